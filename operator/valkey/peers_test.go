package valkey

import (
	"strings"
	"testing"

	"valkey.gomomento.com/operator/engine"
)

func TestWhatAServerSaysOfItselfIsTakenFromItsOwnLine(t *testing.T) {
	own := strings.Repeat("a", idLength) + " 10.0.0.1:6379@16379 myself,slave " + strings.Repeat("b", idLength) + " 0 0 7 connected [93->-" + strings.Repeat("c", idLength) + "]\n"
	other := strings.Repeat("b", idLength) + " 10.0.0.2:6379@16379 master - 0 0 7 connected 0-16383\n"
	var s engine.Server
	if err := takePeers(other+own, &s); err != nil {
		t.Fatal(err)
	}
	if s.ID != strings.Repeat("a", idLength) || s.Role != engine.Replica || s.PrimaryID != strings.Repeat("b", idLength) || len(s.Peers) != 2 || len(s.Marks) != 1 {
		t.Errorf("%+v", s)
	}
	for name, text := range map[string]string{
		"its own line is missing": other,
		"an id is none":           own + "abc 10.0.0.2:6379@16379 master - 0 0 7 connected\n",
	} {
		if err := takePeers(text, &s); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
}
