package observe_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/operator/observe"
)

// plainWatches is a stand-in that, unlike a real API server, cannot stream a list, and forgets what happens between its
// list and its watch. It says when a watch has begun, so that a test can change things after that.
type plainWatches struct {
	client.WithWatch
	begun chan struct{}
}

// Watch implements client.WithWatch.
func (p plainWatches) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	w, err := p.WithWatch.Watch(ctx, list, opts...)
	if err == nil {
		p.begun <- struct{}{}
	}
	return w, err
}

// watchesBegin waits until so many watches have begun.
func watchesBegin(t *testing.T, w *observe.WatchedSecrets, count int) {
	t.Helper()
	begun := w.API.(plainWatches).begun
	for range count {
		select {
		case <-begun:
		case <-time.After(patience):
			t.Fatal("no watch begins")
		}
	}
}

// IsWatchListSemanticsUnSupported is what client-go looks for.
func (plainWatches) IsWatchListSemanticsUnSupported() bool { return true }

func newTLSSecret(name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{"k": []byte(value)}}
}

// watching is a WatchedSecrets over the held Secrets, with the clusters it wakes and how often it asks for one Secret.
func watching(t *testing.T, held ...client.Object) (w *observe.WatchedSecrets, woken chan types.NamespacedName, gets *int) {
	t.Helper()
	gets = new(int)
	byName := func(obj client.Object) []string { return []string{obj.GetName()} }
	kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(held...).
		WithIndex(&corev1.Secret{}, metav1.ObjectNameField, byName).Build()
	counted := interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			*gets++
			return c.Get(ctx, key, into, opts...)
		},
	})
	woken = make(chan types.NamespacedName, 100)
	w = &observe.WatchedSecrets{API: plainWatches{counted, make(chan struct{}, 100)}, OnChange: func(c types.NamespacedName) { woken <- c }}
	t.Cleanup(w.Close)
	return w, woken, gets
}

func awaken(t *testing.T, woken chan types.NamespacedName, want types.NamespacedName) {
	t.Helper()
	for {
		select {
		case got := <-woken:
			if got == want {
				return
			}
		case <-time.After(patience):
			t.Fatalf("%s is not woken", want)
		}
	}
}

// reads waits until the Secret reads as wanted, "" for not found.
func reads(t *testing.T, w *observe.WatchedSecrets, cluster types.NamespacedName, name, want string) {
	t.Helper()
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s, err := w.Secret(context.Background(), cluster, name)
		switch {
		case apierrors.IsNotFound(err):
			got = ""
		case err != nil:
			t.Fatal(err)
		default:
			got = string(s.Data["k"])
		}
		if got == want {
			return
		}
	}
	t.Fatalf("reads %q, want %q", got, want)
}

func TestASecretIsReadFromTheAPIServerOnceAndThenFromItsWatch(t *testing.T) {
	w, woken, gets := watching(t, newTLSSecret("s", "1"))
	reads(t, w, key, "s", "1")
	awaken(t, woken, key)
	for end := time.Now().Add(patience); ; {
		before := *gets
		reads(t, w, key, "s", "1")
		if *gets == before {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the API server is asked each time")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestAChangeOfASecretWakesWhoNamesItAndIsRead(t *testing.T) {
	w, woken, _ := watching(t, newTLSSecret("other", "x"))
	second := types.NamespacedName{Namespace: "ns", Name: "second"}
	reads(t, w, key, "s", "")
	reads(t, w, second, "s", "")
	ctx := context.Background()
	watchesBegin(t, w, 1)
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return w.API.Create(ctx, newTLSSecret("s", "1")) }, "1"},
		{func() error { return w.API.Update(ctx, newTLSSecret("s", "2")) }, "2"},
		{func() error { return w.API.Delete(ctx, newTLSSecret("s", "2")) }, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		awaken(t, woken, key)
		reads(t, w, key, "s", step.want)
		reads(t, w, second, "s", step.want)
	}
}

func TestAClusterThatIsGoneOrNamesAnotherSecretIsNotWoken(t *testing.T) {
	w, woken, _ := watching(t, newTLSSecret("s", "1"), newTLSSecret("t", "1"))
	gone, moved := types.NamespacedName{Namespace: "ns", Name: "gone"}, types.NamespacedName{Namespace: "ns", Name: "moved"}
	for _, cluster := range []types.NamespacedName{gone, moved, key} {
		reads(t, w, cluster, "s", "1")
	}
	w.Release(gone)
	reads(t, w, moved, "t", "1")
	watchesBegin(t, w, 2)
	for len(woken) > 0 {
		<-woken
	}
	if err := w.API.Update(context.Background(), newTLSSecret("s", "2")); err != nil {
		t.Fatal(err)
	}
	awaken(t, woken, key)
	reads(t, w, key, "s", "2")
	for len(woken) > 0 {
		if c := <-woken; c == gone {
			t.Errorf("%s is woken", c)
		}
	}
	w.Release(key)
	reads(t, w, key, "s", "2")
}
