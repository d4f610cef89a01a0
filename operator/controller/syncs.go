package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/engine"
)

// syncs watches how often replicas begin to take the whole data from their primaries. A primary counts them for all its life
// and for all its replicas: what tells of a replica that never gets to the end is by how much the count grows while its link
// is down. It is for the status and nothing else: an operator that forgets it decides the same.
type syncs struct {
	mu      sync.Mutex
	watched map[types.NamespacedName]map[string]attempt
}

// An attempt is a replica without a link, as it was first seen: at whom, and how many full syncs that primary had begun.
type attempt struct {
	primaryID string
	before    int64
}

func newSyncs() *syncs { return &syncs{watched: map[types.NamespacedName]map[string]attempt{}} }

// count notes which replicas have no link, and returns how many full syncs each of them has begun since, the running one
// included.
func (s *syncs) count(key types.NamespacedName, seen *engine.Snapshot) map[string]int {
	servers, waiting := map[string]*engine.Server{}, map[string]int64{}
	for i := range seen.Nodes {
		if server := seen.Nodes[i].Server; server != nil {
			servers[server.ID] = server
			if syncing(server) {
				waiting[server.PrimaryID]++
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, now, counts := s.watched[key], map[string]attempt{}, map[string]int{}
	for i := range seen.Nodes {
		n := &seen.Nodes[i]
		if n.Server == nil || !syncing(n.Server) || servers[n.Server.PrimaryID] == nil {
			continue
		}
		begun := servers[n.Server.PrimaryID].FullSyncs
		a, known := before[n.Name]
		if !known || a.primaryID != n.Server.PrimaryID || begun < a.before {
			a = attempt{primaryID: n.Server.PrimaryID, before: begun}
		}
		now[n.Name] = a
		// Replicas that wait together share the count.
		counts[n.Name] = 1 + int((begun-a.before)/waiting[n.Server.PrimaryID])
	}
	if s.watched[key] = now; len(now) == 0 {
		delete(s.watched, key)
	}
	return counts
}

func (s *syncs) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched, key)
}
