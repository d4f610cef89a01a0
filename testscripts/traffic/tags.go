package traffic

import (
	"strconv"

	"valkey.gomomento.com/operator/engine/topology"
)

const (
	// tagCount is how many slots hold keys of a run, spread evenly, so that every shard of a cluster of up to as many has its own.
	tagCount = 64
	// BucketCount is how many ranges of slots gaps are told for; each is BucketSlots wide.
	BucketCount = 16
	// BucketSlots is how many slots a bucket has.
	BucketSlots = topology.SlotCount / BucketCount
)

// A tag is a hash tag with the slot it leads to.
type tag struct {
	text string
	slot int
}

func (t tag) bucket() int { return t.slot / BucketSlots }

// spread finds one tag in each of tagCount equal ranges of slots, in the order of their slots.
func spread() []tag {
	const width = topology.SlotCount / tagCount
	tags, missing := make([]tag, tagCount), tagCount
	for i := 0; missing > 0; i++ {
		text := strconv.Itoa(i)
		slot := topology.SlotOf(text)
		if place := &tags[slot/width]; place.text == "" {
			*place = tag{text: text, slot: slot}
			missing--
		}
	}
	return tags
}
