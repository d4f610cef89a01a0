package actions_test

import (
	"testing"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

func TestRecallMoves(t *testing.T) {
	recall := &actions.RecallMoves{Recalls: []engine.Recall{{Node: "a", ID: "id-a"}}}
	told := []string{"a: CLUSTER CANCELSLOTMIGRATIONS"}
	s := newShop(t, nil)
	s.run(t, recall)
	same(t, "told", s.servers.told(), told)
	s.servers["a"].refuses = map[string]string{"CLUSTER CANCELSLOTMIGRATIONS": "ERR No migrations ongoing"}
	s.run(t, recall)
	s.servers["a"].refuses["CLUSTER CANCELSLOTMIGRATIONS"] = "NOPERM no permissions"
	s.fails(t, recall, "a: CLUSTER CANCELSLOTMIGRATIONS: NOPERM")
	s.servers["a"].id = "id-x"
	s.changesNothing(t, recall)
}
