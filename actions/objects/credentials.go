package objects

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// passwordBytes are the random bytes of a system password; it is written as
// twice as many hex digits, which no configuration file needs to quote.
const passwordBytes = 64

// Credentials are the two system passwords. They do not print.
type Credentials struct {
	Operator, Repl string
}

// NewCredentials are new passwords.
func NewCredentials() Credentials { return Credentials{Operator: password(), Repl: password()} }

// Whole says that both passwords are there.
func (c Credentials) Whole() bool { return c.Operator != "" && c.Repl != "" }

// String hides the passwords.
func (Credentials) String() string { return "(hidden)" }

// GoString hides the passwords.
func (Credentials) GoString() string { return "objects.Credentials{(hidden)}" }

// MarshalText hides the passwords.
func (Credentials) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }

// AuthSecret is a new Secret with new system passwords.
func AuthSecret(cluster *v1alpha1.ValkeyCluster) *corev1.Secret {
	return AuthSecretOf(cluster, NewCredentials())
}

// AuthSecretOf is the Secret with these system passwords.
//
// The replication password is there twice: as it is, and as the one line of
// configuration that valkey.conf includes, so that no ConfigMap holds it.
//
// The Secret is immutable, so that the API server refuses an edit, which no
// server would follow; and it has a finalizer, so that it can still be read
// when somebody has deleted it.
func AuthSecretOf(cluster *v1alpha1.ValkeyCluster, c Credentials) *corev1.Secret {
	s := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: ofCluster(cluster, AuthName(cluster.Name)),
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			OperatorPasswordKey: []byte(c.Operator),
			ReplPasswordKey:     []byte(c.Repl),
			PrimaryAuthKey:      []byte(primaryAuth(c.Repl)),
		},
	}
	Guard(s)
	return s
}

// CopySecret is the Secret beside the main one that holds its passwords while
// that is made again.
func CopySecret(cluster *v1alpha1.ValkeyCluster, c Credentials) *corev1.Secret {
	s := AuthSecretOf(cluster, c)
	s.Name = NextAuthName(cluster.Name)
	s.Annotations = map[string]string{AdoptedAnnotation: "true"}
	return s
}

// NextSecret is the Secret with new passwords, and the previous ones that they
// are to replace, for the rotation that the annotation's value asks for.
func NextSecret(cluster *v1alpha1.ValkeyCluster, previous Credentials, rotation string) *corev1.Secret {
	s := AuthSecret(cluster)
	s.Name = NextAuthName(cluster.Name)
	s.Annotations = map[string]string{RotationAnnotation: rotation}
	s.Data[previousPrefix+OperatorPasswordKey] = []byte(previous.Operator)
	s.Data[previousPrefix+ReplPasswordKey] = []byte(previous.Repl)
	return s
}

// Guard makes the Secret immutable and gives it the finalizer.
func Guard(s *corev1.Secret) {
	yes := true
	s.Immutable = &yes
	controllerutil.AddFinalizer(s, SecretFinalizer)
}

// Guarded says that the Secret is immutable and has the finalizer.
func Guarded(s *corev1.Secret) bool {
	return s.Immutable != nil && *s.Immutable && controllerutil.ContainsFinalizer(s, SecretFinalizer)
}

// Adopted says that the passwords of the Secret beside the main one are those to be used.
func Adopted(s *corev1.Secret) bool { return s.Annotations[AdoptedAnnotation] == "true" }

// Passwords are the system passwords in the Secret's data; one that is
// missing or malformed is "". A replication password that valkey.conf's
// include does not agree with counts as malformed.
func Passwords(data map[string][]byte) Credentials {
	c := Credentials{Operator: wellFormed(data[OperatorPasswordKey]), Repl: wellFormed(data[ReplPasswordKey])}
	if line := string(data[PrimaryAuthKey]); line != primaryAuth(c.Repl) && line != "primaryauth "+c.Repl+"\n" {
		c.Repl = ""
	}
	return c
}

// PreviousPasswords are those that a Secret of a rotation says it replaces.
func PreviousPasswords(data map[string][]byte) Credentials {
	return Credentials{
		Operator: wellFormed(data[previousPrefix+OperatorPasswordKey]),
		Repl:     wellFormed(data[previousPrefix+ReplPasswordKey]),
	}
}

// Hash is the SHA-256 that Valkey knows a password by, "" for none.
func Hash(password string) string {
	if password == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// primaryAuth has the name of the directive that every release takes: primaryauth came with Valkey 8.0.
func primaryAuth(repl string) string { return "masterauth " + repl + "\n" }

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
