package topology

import "strings"

// SlotOf is the slot of a key: CRC-16 of the XMODEM kind, modulo the number of
// slots, of what stands between the first pair of braces, or of the whole key
// when nothing does (Valkey's cluster specification, "Key distribution model").
func SlotOf(key string) int {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			key = tag
		}
	}
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
	return int(crc) % SlotCount
}
