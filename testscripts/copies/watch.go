package copies

import (
	"context"
	"crypto/x509"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
)

const (
	// Every is the time between two rounds of questions.
	Every = 100 * time.Millisecond
	// roundTime bounds a round, so that one silent server does not make the watch blind for the others.
	roundTime = 300 * time.Millisecond
	// grace is how long a server that is only slow counts as it last answered: on a machine where much happens that is
	// more often than not the machine. One whose port refuses or whose connection broke counts as gone at once.
	grace = 2 * time.Second
	// firstAnswers is how long the watch waits for the first answer of a server, which may be a copy by then: connecting
	// takes longer than a round may. Meanwhile no slot counts as one with too few copies.
	firstAnswers = 5 * time.Second
)

// A Server is where one server is reached.
type Server struct {
	// Name tells two servers apart that had the same address after each other.
	Name, Address string
	// Hostname is the name its certificate must hold, with TLS only.
	Hostname string
}

// Options say whom to ask.
type Options struct {
	// User is who asks, "" for _momento_operator.
	User string
	// Servers are those that there are now. It is called in every round.
	Servers  func(ctx context.Context) ([]Server, error)
	Password string
	// TLS says that the servers speak TLS, with certificates that verify against RootCAs.
	TLS     bool
	RootCAs *x509.CertPool
	// Target is how many synced copies every slot should have, its primary's included.
	Target int
}

// A Watch goes on until it is stopped.
type Watch struct {
	options Options
	pool    *valkey.Pool
	book    *book
	heard   map[string]answer
	streams map[string]time.Time // when each primary's stream was first heard of
	asked   map[string]time.Time // when each server was first asked
	begun   bool                 // entries are made
	errs    []error
	lows    []string // what the servers said when slots had fewer copies than ever
	cancel  context.CancelFunc
	rounds  sync.WaitGroup
}

// An answer is what a server said of itself last.
type answer struct {
	at     time.Time
	server *engine.Server
	stream stream
}

// Start begins to watch.
func Start(o Options) *Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{options: o, pool: &valkey.Pool{}, book: newBook(o.Target), heard: map[string]answer{}, streams: map[string]time.Time{}, asked: map[string]time.Time{}, cancel: cancel}
	w.rounds.Go(func() { w.run(ctx) })
	return w
}

func (w *Watch) run(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		w.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Stop ends the watch and reports what it has seen.
func (w *Watch) Stop() Report {
	w.cancel()
	w.rounds.Wait()
	w.pool.Close()
	report := w.book.report(time.Now(), w.errs)
	report.Lows = w.lows
	return report
}

const (
	// maxErrors is how many errors of finding the servers are kept.
	maxErrors = 3
	// maxLows is of how many rounds with fewer copies than ever the answers are kept.
	maxLows = 3
)

// round asks every server once and enters what is known then into the book.
func (w *Watch) round(ctx context.Context) {
	servers, err := w.options.Servers(ctx)
	if err != nil {
		if ctx.Err() == nil && len(w.errs) < maxErrors {
			w.errs = append(w.errs, err)
		}
		return
	}
	timed, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	answers, errs := make([]answer, len(servers)), make([]error, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() { answers[i], errs[i] = w.ask(timed, s) })
	}
	asking.Wait()
	known, awaited := w.known(servers, answers, errs)
	w.begun = w.begun || awaited == 0
	if now := time.Now(); w.begun && ctx.Err() == nil && w.book.enter(now, known, awaited > 0) && len(w.lows) < maxLows {
		w.lows = append(w.lows, tellLow(now.Sub(w.book.began), w.heard))
	}
}

// cluster is the one that the pool keeps connections of.
var cluster = types.NamespacedName{Name: "watched"}

func (w *Watch) ask(ctx context.Context, s Server) (answer, error) {
	to := valkey.Target{Cluster: cluster, PodUID: s.Name, Address: s.Address, Hostname: s.Hostname}
	access := valkey.Access{User: w.options.User, Password: w.options.Password, TLS: w.options.TLS, RootCAs: w.options.RootCAs}
	server, err := w.pool.Ask(ctx, to, access, nil)
	if err != nil {
		return answer{}, err
	}
	replies, err := w.pool.Servers(map[string]valkey.Target{s.Name: to}, access).Do(ctx, s.Name, []string{"INFO", "replication"})
	if err != nil {
		return answer{}, err
	}
	return answer{server: server, stream: streamOf(replies[0].Text)}, replies[0].Err
}

// known is what every server said in this round, or a moment ago if it is only slow, and of how many the first answer is
// awaited.
func (w *Watch) known(servers []Server, answers []answer, errs []error) (known []*engine.Server, awaited int) {
	now, heard := time.Now(), map[string]answer{}
	for i, s := range servers {
		last, before := w.heard[s.Name]
		slow := valkey.Silence(errs[i]) == valkey.SilenceTimeout
		switch {
		case errs[i] == nil:
			last = answers[i]
			last.at = now
		case slow && !before && since(w.asked, s.Name, now) < firstAnswers:
			awaited++
			continue
		case !slow || now.Sub(last.at) > grace:
			continue
		}
		heard[s.Name] = last
	}
	w.heard = heard
	return whole(heard, func(stream string) bool { return since(w.streams, stream, now) < grace }), awaited
}

// since is for how long the name has been known, from now on if it was not.
func since(known map[string]time.Time, name string, now time.Time) time.Duration {
	if _, found := known[name]; !found {
		known[name] = now
	}
	return now.Sub(known[name])
}
