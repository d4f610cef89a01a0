package objects

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// Keys of a TLS Secret.
const (
	CertKey = corev1.TLSCertKey
	KeyKey  = corev1.TLSPrivateKeyKey
	CAKey   = "ca.crt"
	// RetiredKey, in the operator's copy only, holds the certificates of earlier contents that a server may still show.
	// No server reads it: with it the operator knows a server again that is yet to be brought to the new ones.
	RetiredKey = "retired.crt"
)

// Annotations about certificates.
const (
	// CopiedFromAnnotation on the copy names the Secret it is a copy of.
	CopiedFromAnnotation = "valkey.gomomento.com/copied-from"
	// CopiedAtAnnotation on the copy says when it got its contents.
	CopiedAtAnnotation = "valkey.gomomento.com/copied-at"
	// TouchAnnotation on a Pod says for which revision of the certificate, and when, its kubelet was last asked to
	// refresh its volumes.
	TouchAnnotation = "valkey.gomomento.com/certificate-touched"
)

// TLSName is the operator's copy of the TLS Secret, which Pods mount.
func TLSName(cluster string) string { return cluster + "-operator-tls" }

// CertificateRevision names the contents of a TLS Secret: the SHA-256 over certificate, key and authorities, 64 hex
// characters; "" when one of them is missing. A key cannot be guessed from it.
func CertificateRevision(data map[string][]byte) string {
	sum := sha256.New()
	for _, key := range []string{CertKey, KeyKey, CAKey} {
		if len(data[key]) == 0 {
			return ""
		}
		part := sha256.Sum256(data[key])
		sum.Write(part[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// RevisionFile is the file, beside those of the certificate, by whose name a server's volume can be told to hold this
// revision: ca.crt once more. A server that is told to load it and does has seen the volume as it is now.
func RevisionFile(revision string) string { return "ca-" + revision + ".crt" }

// CopiedRevision is the revision of a copy's contents, "" when it is not as the operator wrote it.
func CopiedRevision(data map[string][]byte) string {
	revision := CertificateRevision(data)
	if revision == "" || !bytes.Equal(data[RevisionFile(revision)], data[CAKey]) {
		return ""
	}
	return revision
}

// TLSCopy is the copy of a TLS Secret: its contents, the file that names their revision, and the certificates that
// servers may still show.
func TLSCopy(cluster *v1alpha1.ValkeyCluster, original *corev1.Secret, retired []byte, at time.Time) *corev1.Secret {
	meta := ofCluster(cluster, TLSName(cluster.Name))
	meta.Annotations = map[string]string{
		CopiedFromAnnotation: original.Name,
		CopiedAtAnnotation:   at.UTC().Format(time.RFC3339),
	}
	data := map[string][]byte{RevisionFile(CertificateRevision(original.Data)): original.Data[CAKey]}
	for _, key := range []string{CertKey, KeyKey, CAKey} {
		data[key] = original.Data[key]
	}
	if len(retired) > 0 {
		data[RetiredKey] = retired
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: data,
	}
}

// Leaf is the DER of the first certificate of tls.crt, nil when there is none.
func Leaf(data map[string][]byte) []byte {
	if block, _ := pem.Decode(data[CertKey]); block != nil {
		return block.Bytes
	}
	return nil
}

// Retire is the certificates to keep in mind when a copy gets new contents: the one it held so far, if it was whole and
// is another than the new one, and with others those that were retired before it. Each is there once.
func Retire(copied, fresh map[string][]byte, others bool) []byte {
	var known [][]byte
	if CopiedRevision(copied) != "" {
		known = append(known, Leaf(copied))
	}
	if others {
		known = append(known, Retired(copied)...)
	}
	seen := [][]byte{Leaf(fresh)}
	var bundle []byte
	for _, der := range known {
		if slices.ContainsFunc(seen, func(s []byte) bool { return bytes.Equal(s, der) }) {
			continue
		}
		seen = append(seen, der)
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return bundle
}

// Retired are the certificates, as DER, that a copy keeps in mind.
func Retired(copied map[string][]byte) [][]byte {
	var all [][]byte
	for block, rest := pem.Decode(copied[RetiredKey]); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block.Bytes)
	}
	return all
}

// secretSpec stands for a Secret's contents by their hash, so that nobody reads them in a canonical form.
func secretSpec(s *corev1.Secret) any {
	sums := make(map[string]string, len(s.Data))
	for key, value := range s.Data {
		sum := sha256.Sum256(value)
		sums[key] = hex.EncodeToString(sum[:])
	}
	return struct {
		Type, From string
		Data       map[string]string
	}{string(s.Type), s.Annotations[CopiedFromAnnotation], sums}
}

// Touch is the value of TouchAnnotation for a revision.
func Touch(revision string, at time.Time) string {
	return revision + "@" + at.UTC().Format(time.RFC3339)
}

// Touched reads a value of TouchAnnotation. One that was not written by Touch is of no revision.
func Touched(value string) (revision string, at time.Time) {
	revision, when, _ := strings.Cut(value, "@")
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		return "", time.Time{}
	}
	return revision, at
}
