package actions_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

func TestWhatAServerListsIsNotedOnceItHasTheUsers(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := newFormation(t, version, 1)
			f.withPods(t)
			load := &actions.LoadACL{Nodes: f.names}
			f.want(t, map[string][]string{"ada": {"ada"}})
			f.run(t, load)
			if f.usersEdited(t, "a") {
				t.Error("it was told to load the users, and lists others than are noted")
			}
			f.do(t, "a", "ACL", "SETUSER", "ada", "-set", ">mine")
			f.do(t, "a", "ACL", "SETUSER", "intruder", "on", ">intruder", "~*", "+@all")
			if !f.usersEdited(t, "a") {
				t.Error("two users were edited by hand, and nothing tells")
			}
			intruder := f.login(t, "a", "intruder")
			f.run(t, load)
			if f.usersEdited(t, "a") || intruder.alive() {
				t.Error("what was edited by hand is not undone")
			}
		})
	}
}

// usersEdited says that the server lists other users than are noted on its Pod.
func (f *formation) usersEdited(t *testing.T, name string) bool {
	t.Helper()
	p := &corev1.Pod{}
	f.get(t, name, p)
	return p.Annotations[engine.UsersAnnotation] != replies.Users(f.do(t, name, "ACL", "LIST"))
}
