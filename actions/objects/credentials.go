package objects

import (
	"crypto/rand"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// passwordBytes are the random bytes of a system password; it is written as
// twice as many hex digits, which no configuration file needs to quote.
const passwordBytes = 64

// AuthSecret is a new Secret with new system passwords.
//
// The replication password is there twice: as it is, and as the one line of
// configuration that valkey.conf includes, so that no ConfigMap holds it.
func AuthSecret(cluster *v1alpha1.ValkeyCluster) *corev1.Secret {
	repl := password()
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: ofCluster(cluster, AuthName(cluster.Name)),
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			OperatorPasswordKey: []byte(password()),
			ReplPasswordKey:     []byte(repl),
			PrimaryAuthKey:      []byte(primaryAuth(repl)),
		},
	}
}

// Passwords are the two system passwords in the Secret's data; one that is
// missing or malformed is "". A replication password that valkey.conf's
// include does not agree with counts as malformed.
func Passwords(data map[string][]byte) (operator, repl string) {
	operator, repl = wellFormed(data[OperatorPasswordKey]), wellFormed(data[ReplPasswordKey])
	if string(data[PrimaryAuthKey]) != primaryAuth(repl) {
		repl = ""
	}
	return operator, repl
}

func primaryAuth(repl string) string { return "primaryauth " + repl + "\n" }

func password() string {
	random := make([]byte, passwordBytes)
	rand.Read(random) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(random)
}

// wellFormed is the password if it is one of ours, else "".
func wellFormed(p []byte) string {
	if hex.DecodedLen(len(p)) != passwordBytes {
		return ""
	}
	if _, err := hex.DecodeString(string(p)); err != nil {
		return ""
	}
	return string(p)
}
