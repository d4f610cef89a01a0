package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/testscripts/sim/kube"
	"valkey.gomomento.com/operator/testscripts/sim/model"
)

// who is the server that words name.
func (w *World) who(args []string) (*model.Server, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("nobody is named")
	}
	servers := w.servers.Servers()
	slices.SortFunc(servers, func(a, b *model.Server) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range servers {
		is := s.Name == args[0]
		if len(args) > 1 {
			leads := s.IsPrimary() && s.Slots() > 0
			is = shardOf(s) == args[1] && (args[0] == "primary" && leads || args[0] == "replica" && !s.IsPrimary())
		}
		if is {
			return s, nil
		}
	}
	return nil, nil
}

// onServer does it to a server, if there is such a one; struck says that it is a fault.
func onServer(do func(*model.Server), struck bool) func(*World, []string) error {
	return func(w *World, args []string) error {
		return w.held(func() error {
			s, err := w.who(args)
			if err != nil || s == nil {
				return err
			}
			w.judge.disturbed = true
			if struck {
				s.Struck()
			}
			do(s)
			return nil
		})
	}
}

func (w *World) doDelete(args []string) error {
	return w.held(func() error {
		s, err := w.who(args)
		if err != nil || s == nil {
			return err
		}
		w.judge.disturbed = true
		s.Deleted()
		if pod := w.pod(s.Name); pod != nil {
			w.api.Remove(pod)
		}
		return nil
	})
}

func (w *World) doLag(args []string) error {
	return w.held(func() error {
		d, err := time.ParseDuration(args[len(args)-1])
		if err != nil {
			return err
		}
		if s, err := w.who(args[:len(args)-1]); err != nil || s == nil {
			return err
		} else {
			s.Lag = d
		}
		return nil
	})
}

// host is the machine that words name, or that of the server they name.
func (w *World) host(args []string) (string, error) {
	if slices.Contains(w.machines.Hosts(), args[0]) {
		return args[0], nil
	}
	s, err := w.who(args)
	if err != nil || s == nil {
		return "", err
	}
	return s.Host, nil
}

func (w *World) doPower(args []string) error {
	return w.held(func() error {
		host, err := w.host(args[1:])
		if err != nil || host == "" {
			return err
		}
		w.judge.disturbed = true
		if args[0] == "off" {
			w.machines.Fail(host)
		} else {
			w.machines.Recover(host)
		}
		return nil
	})
}

func (w *World) doCordon(args []string) error {
	return w.held(func() error {
		host, err := w.host(args[1:])
		if err == nil && host != "" {
			w.machines.Cordon(host, args[0] == "on")
		}
		return err
	})
}

// group are the names in a list such as "primary 0,operator-0,api".
func (w *World) group(args []string) ([]string, error) {
	var names []string
	for _, one := range strings.Split(strings.Join(args, " "), ",") {
		words := strings.Fields(one)
		s, err := w.who(words)
		if err != nil {
			return nil, err
		}
		if s != nil {
			s.Struck()
			names = append(names, s.Name)
		} else {
			names = append(names, words[0])
		}
	}
	w.judge.disturbed = true
	return names, nil
}

func (w *World) doCut(args []string) error {
	return w.held(func() error {
		names, err := w.group(args)
		w.servers.Net.Split(names)
		return err
	})
}

func (w *World) doMute(args []string) error {
	return w.held(func() error {
		names, err := w.group(args)
		w.servers.Net.Mute(names)
		return err
	})
}

func (w *World) doHeal([]string) error {
	return w.held(func() error {
		w.servers.Net.Heal()
		w.stale, w.broken = 0, 0
		for _, host := range w.machines.Hosts() {
			w.machines.Recover(host)
			if n := kube.Get[corev1.Node](w.api, "", host); n != nil && n.Spec.Unschedulable {
				w.machines.Cordon(host, false)
			}
		}
		for _, o := range w.operators {
			o.slow = 0
		}
		for _, s := range w.servers.All() {
			s.Resume()
			s.Lag = replicationLag
			s.Recovered()
		}
		return nil
	})
}

func (w *World) doStale(args []string) error {
	return w.held(func() (err error) {
		w.stale, err = time.ParseDuration(args[0])
		return err
	})
}

func (w *World) doFlaky(args []string) error {
	return w.held(func() error {
		percent, err := strconv.Atoi(args[0])
		w.broken = float64(percent) / 100
		w.judge.disturbed = true
		return err
	})
}

func (w *World) doOperator(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%d words instead of 2", len(args))
	}
	w.line.Hold()
	w.judge.disturbed = true
	o := w.operator(args[1])
	if args[0] == "kill" && o != nil {
		o.kill()
	}
	w.line.LetGo()
	if args[0] == "start" && o == nil {
		w.startOperator(args[1])
	}
	return nil
}
