package valkey

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"valkey.gomomento.com/operator/engine"
)

// infoSections are the sections of INFO that the fields below are in.
var infoSections = []string{"server", "replication", "memory", "keyspace", "persistence", "stats"}

// fields are the lines name:value of INFO and CLUSTER INFO.
type fields map[string]string

func parseFields(text string) fields {
	f := fields{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if found && !strings.HasPrefix(name, "#") {
			f[name] = value
		}
	}
	return f
}

// number is a field as an integer. A missing one is an error: a reply in which it is missing is not understood.
func (f fields) number(name string) (int64, error) {
	n, err := strconv.ParseInt(f[name], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("field %s: %w", name, err)
	}
	return n, nil
}

// numbers reads several fields.
func (f fields) numbers(into map[string]*int64) error {
	for name, n := range into {
		var err error
		if *n, err = f.number(name); err != nil {
			return err
		}
	}
	return nil
}

// parseInfo reads from INFO what a Snapshot holds of it.
func parseInfo(text string, s *engine.Server) error {
	f := parseFields(text)
	offset := "master_repl_offset"
	if f["role"] == "slave" {
		offset = "slave_repl_offset"
	}
	var seconds, loading int64
	err := f.numbers(map[string]*int64{
		"uptime_in_seconds": &seconds, "loading": &loading,
		"used_memory": &s.UsedMemory, "maxmemory": &s.MaxMemory, offset: &s.Offset, "sync_full": &s.FullSyncs,
	})
	if err != nil {
		return fmt.Errorf("read INFO: %w", err)
	}
	s.Uptime, s.Loading = time.Duration(seconds)*time.Second, loading != 0
	s.Version = version(f)
	s.LinkUp = f["role"] == "slave" && f["master_link_status"] == "up" && f["master_sync_in_progress"] == "0"
	if s.Keys, s.FieldTTLs, err = f.keys(); err != nil {
		return fmt.Errorf("read INFO: %w", err)
	}
	return nil
}

// version is Valkey's own version; the first releases of 7.2 say it only where Redis did.
func version(f fields) string {
	if v := f["valkey_version"]; v != "" {
		return v
	}
	return f["redis_version"]
}

// keys sums the keys of all databases, and those among them that have fields with a time to live of their own, from
// lines such as db0:keys=3,expires=0,avg_ttl=0,keys_with_volatile_items=1.
func (f fields) keys() (keys, fieldTTLs int64, err error) {
	for name, value := range f {
		if !isDatabase(name) {
			continue
		}
		for part := range strings.SplitSeq(value, ",") {
			what, count, _ := strings.Cut(part, "=")
			if what != "keys" && what != "keys_with_volatile_items" {
				continue
			}
			n, err := strconv.ParseInt(count, 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("field %s: %w", name, err)
			}
			if what == "keys" {
				keys += n
			} else {
				fieldTTLs += n
			}
		}
	}
	return keys, fieldTTLs, nil
}

func isDatabase(name string) bool {
	digits, found := strings.CutPrefix(name, "db")
	return found && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// parseClusterInfo reads from CLUSTER INFO what a Snapshot holds of it.
func parseClusterInfo(text string, s *engine.Server) error {
	f := parseFields(text)
	epoch, err := f.number("cluster_current_epoch")
	if err != nil {
		return fmt.Errorf("read CLUSTER INFO: %w", err)
	}
	s.ClusterOK, s.CurrentEpoch = f["cluster_state"] == "ok", epoch
	return nil
}
