package traffic

import "strconv"

const (
	slotCount = 16384
	// tagCount is how many slots hold keys of a run, spread evenly, so that every shard of a cluster of up to as many has its own.
	tagCount = 64
	// BucketCount is how many ranges of slots gaps are told for; each is BucketSlots wide.
	BucketCount = 16
	// BucketSlots is how many slots a bucket has.
	BucketSlots = slotCount / BucketCount
)

// A tag is a hash tag with the slot it leads to.
type tag struct {
	text string
	slot int
}

func (t tag) bucket() int { return t.slot / BucketSlots }

// spread finds one tag in each of tagCount equal ranges of slots, in the order of their slots.
func spread() []tag {
	const width = slotCount / tagCount
	tags, missing := make([]tag, tagCount), tagCount
	for i := 0; missing > 0; i++ {
		text := strconv.Itoa(i)
		slot := slotOf(text)
		if place := &tags[slot/width]; place.text == "" {
			*place = tag{text: text, slot: slot}
			missing--
		}
	}
	return tags
}

// slotOf is Valkey's hash slot of a key or hash tag: CRC-16 of the XMODEM kind, modulo the number of slots.
func slotOf(key string) int {
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % slotCount)
}
