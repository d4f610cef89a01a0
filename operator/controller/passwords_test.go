package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

func TestPasswordsAreRotatedByAnOperatorThatIsKilledAtEveryStep(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			s := newStand(t, version)
			s.settle()
			pods, old, links, caller := s.pods(), s.main(), s.syncs(), s.call()
			thief := s.call()
			thief.says(t, "AUTH _momento_repl "+old.Repl, "+OK")

			s.rotate("monday")
			s.eventually("nothing to do", func() bool {
				s.restart()
				s.refresh()
				caller.goesOn(t)
				if now := s.syncs(); !slices.Equal(now, links) {
					t.Fatalf("replication was %q, is %q", links, now)
				}
				next, err := s.pass()
				s.check(err)
				return next.RequeueAfter >= settled
			})
			t.Logf("%d passes", caller.calls)
			now := s.main()
			if now.Operator == old.Operator || now.Repl == old.Repl {
				t.Error("the passwords are the old ones")
			}
			s.onlyAccepts(now)
			s.samePods(pods)
			thief.isCut(t)

			// A link that breaks comes back with the new password, and so does a new node, whatever its kubelet gave it.
			for name := range s.running {
				s.ask(name, "CLIENT", "KILL", "TYPE", "replica")
			}
			s.eventually("replicas are back", func() bool {
				return !strings.Contains(strings.Join(s.syncs(), " "), "master_link_status:down")
			})
			s.replaceReplica()
			s.onlyAccepts(now)
		})
	}
}

// replaceReplica ends the replica's Pod, and settles with another in its place.
func (s *stand) replaceReplica() {
	s.t.Helper()
	for _, pod := range s.pods() {
		if !strings.HasPrefix(s.ask(pod.Name, "ROLE"), "slave") {
			continue
		}
		s.ask(pod.Name, "CONFIG", "GET", "dir")
		s.check(s.kube.Delete(s.t.Context(), &pod))
		_, err := s.servers().Do(s.t.Context(), pod.Name, []string{"SHUTDOWN", "NOW"})
		s.t.Logf("%s ends: %v", pod.Name, err)
		delete(s.running, pod.Name)
		delete(s.dirs, pod.Name)
	}
	s.restless()
	if links := strings.Join(s.syncs(), " "); len(s.running) != 2 || !strings.Contains(links, "master_link_status:up") {
		s.t.Errorf("%d servers, replication is %s", len(s.running), links)
	}
}

func TestANodeIsReplacedInMidRotation(t *testing.T) {
	for when, steps := range map[string]int{"servers are about to accept both": 2, "the new ones are adopted": 5} {
		t.Run(when, func(t *testing.T) {
			s := newStand(t, "9.1")
			s.settle()
			s.rotate("monday")
			for range steps {
				s.refresh()
				_, err := s.pass()
				s.check(err)
			}
			s.replaceReplica()
			s.onlyAccepts(s.main())
		})
	}
}

func TestADeletedSecretIsRestoredUnnoticed(t *testing.T) {
	s := newStand(t, "9.1")
	s.settle()
	pods, before, links, caller := s.pods(), s.main(), s.syncs(), s.call()
	connections := s.connections()
	s.check(s.kube.Delete(t.Context(), s.secret(objects.AuthName(s.key.Name))))
	s.eventually("nothing to do", func() bool {
		caller.goesOn(t)
		next, err := s.pass()
		s.check(err)
		return next.RequeueAfter >= settled
	})
	if s.main() != before {
		t.Error("the passwords are others")
	}
	if now := s.connections(); !slices.Equal(now, connections) {
		t.Errorf("the operator's connections were %q, are %q", connections, now)
	}
	if now := s.syncs(); !slices.Equal(now, links) {
		t.Errorf("replication was %q, is %q", links, now)
	}
	s.samePods(pods)
}

func TestAStrippedSecretIsRecalledByTheOperatorThatRuns(t *testing.T) {
	for _, version := range []string{"9.1", "8.1"} {
		t.Run(version, func(t *testing.T) {
			s := newStand(t, version)
			s.settle()
			pods, before, links := s.pods(), s.main(), s.syncs()
			s.strip()
			s.settle()
			if s.main() != before {
				t.Error("the passwords are others")
			}
			if now := s.syncs(); !slices.Equal(now, links) {
				t.Errorf("replication was %q, is %q", links, now)
			}
			s.samePods(pods)
		})
	}
}

func TestAStrippedSecretHoldsAnOperatorThatWasStartedSince(t *testing.T) {
	s := newStand(t, "9.1")
	s.settle()
	pods, secret := s.pods(), s.secret(objects.AuthName(s.key.Name))
	s.strip()
	s.restart()
	s.eventually("it holds", func() bool {
		_, err := s.pass()
		s.check(err)
		cluster := &v1alpha1.ValkeyCluster{}
		s.get(s.key.Name, cluster)
		return strings.Contains(fmt.Sprint(cluster.Status.Conditions), "Restore it from a backup")
	})
	if s.secret(secret.Name) != nil {
		t.Error("a new one was made")
	}

	// Somebody restores it as a backup has it.
	secret.ResourceVersion, secret.Finalizers, secret.Immutable = "", nil, nil
	s.check(s.kube.Create(t.Context(), secret))
	s.settle()
	s.main()
	s.samePods(pods)
}
