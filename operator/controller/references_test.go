package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var (
	shop    = types.NamespacedName{Namespace: "shop", Name: "cache"}
	billing = types.NamespacedName{Namespace: "billing", Name: "cache"}
	small   = reference{kind: configKind, name: "small"}
	base    = reference{kind: configKind, name: "base"}
	image   = reference{kind: imageKind, name: "small"}
)

// see is a whole look of a cluster: each object is noted before it is read.
func see(r *references, cluster types.NamespacedName, refs ...reference) []reference {
	for _, ref := range refs {
		r.note(cluster, ref)
	}
	return r.settle(cluster, refs)
}

var compare = cmp.AllowUnexported(reference{})

func TestAnEditWakesExactlyTheUsers(t *testing.T) {
	r := newReferences()
	see(r, shop, small, base)
	see(r, billing, small, image)
	for name, c := range map[string]struct {
		ref  reference
		want []types.NamespacedName
	}{
		"used by both":         {small, []types.NamespacedName{billing, shop}},
		"a base, used by one":  {base, []types.NamespacedName{shop}},
		"an image of one name": {image, []types.NamespacedName{billing}},
		"used by nobody":       {reference{kind: roleKind, name: "small"}, []types.NamespacedName{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, r.clusters(c.ref)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAReferenceWakesFromTheMomentItIsNoted(t *testing.T) {
	r := newReferences()
	r.note(shop, small)
	if diff := cmp.Diff([]types.NamespacedName{shop}, r.clusters(small)); diff != "" {
		t.Error(diff)
	}
}

func TestSettlingTellsWhatWasAddedAndDropped(t *testing.T) {
	r := newReferences()
	if diff := cmp.Diff([]reference{base, small}, see(r, shop, small, base), compare); diff != "" {
		t.Error("at first:", diff)
	}
	if diff := cmp.Diff([]reference(nil), see(r, shop, small, base), compare); diff != "" {
		t.Error("the same again:", diff)
	}
	if diff := cmp.Diff([]reference{base, image}, see(r, shop, small, image), compare); diff != "" {
		t.Error("another base:", diff)
	}
	if got := r.clusters(base); len(got) > 0 {
		t.Errorf("a base that is no longer used wakes %v", got)
	}
	// A pass that could not read all leaves what it noted; the next whole one clears it.
	r.note(shop, base)
	see(r, shop, small, image)
	if got := r.clusters(base); len(got) > 0 {
		t.Errorf("what a broken pass noted wakes %v", got)
	}
}

func TestAClusterThatIsGoneIsWokenNoMore(t *testing.T) {
	r := newReferences()
	see(r, shop, small)
	if diff := cmp.Diff([]reference{small}, r.forget(shop), compare); diff != "" {
		t.Error(diff)
	}
	if got := r.clusters(small); len(got) > 0 {
		t.Errorf("wakes %v", got)
	}
	if len(r.of)+len(r.users)+len(r.settled) > 0 {
		t.Errorf("kept %v %v %v", r.of, r.users, r.settled)
	}
}
