package cluster

import "github.com/rogpeppe/go-internal/testscript"

// commands is the vocabulary of the scenarios.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"apply":       cmdApply,       // apply FILE...: kubectl apply; $NS in a file is the scenario's namespace
	"kubectl":     cmdKubectl,     // [!] kubectl ARG...: in the scenario's namespace
	"available":   cmdAvailable,   // available DURATION CLUSTER...: each becomes Active and Available for its current spec
	"condition":   cmdCondition,   // condition DURATION KIND NAME TYPE STATUS [REGEXP]: a condition shows, and its message matches
	"formed":      cmdFormed,      // formed CLUSTER SHARDSxREPLICAS [within=DURATION]: exactly these servers know each other, every slot and epoch once
	"gone":        cmdGone,        // gone DURATION CLUSTER...: nothing of it is left
	"login":       cmdLogin,       // [!] login DURATION CLUSTER USER PASSWORD: every server accepts it (or: none does), within that time
	"writes":      cmdWrites,      // writes CLUSTER COUNT: a cluster client sets and gets that many keys
	"operator":    cmdOperator,    // operator start|kill: the operator's process; operator blind CLUSTER, then sighted: it alone reaches none of its Pods
	"blackhole":   cmdBlackhole,   // blackhole CLUSTER: the operator reaches none of its Pods, now or later
	"certificate": cmdCertificate, // certificate SECRET CLUSTER [FAULT|renewed|brief|bundled|crossed]: a TLS Secret for it, by a new authority unless it says otherwise
	"served":      cmdServed,      // served DURATION CLUSTER SECRET: every server shows the Secret's certificate to a client that verifies it
	"names":       cmdNames,       // names watch CLUSTER | names resolved COUNT: DNS knows each name before clients are told it
	"idle":        cmdIdle,        // idle connect|connected CLUSTER: TLS connections that must not be dropped
	"setting":     cmdSetting,     // setting DURATION CLUSTER DIRECTIVE VALUE: every server has it live within that time
	"drift":       cmdDrift,       // drift CLUSTER DIRECTIVE VALUE: somebody changes a setting on one server by hand
	"edit":        cmdEdit,        // edit KIND NAME JSON: merge-patch an object
	"settled":     cmdSettled,     // settled DURATION CLUSTER: nothing is left to do, and stays so
	"evenly":      cmdEvenly,      // evenly CLUSTER SHARDS: so many primaries share all slots evenly, in every server's eyes
	"crash":       cmdCrash,       // crash CLUSTER primary|replica SHARD... [unreported]: SIGKILL to servers, to all at once, or first the API server stops
	"hang":        cmdHang,        // hang CLUSTER primary|replica SHARD...: SIGSTOP to servers
	"delete":      cmdDelete,      // delete CLUSTER primary|replica SHARD [force]: the Pod of a server; delete CLUSTER all [force]: of all at once
	"drain":       cmdDrain,       // drain DURATION PLACE...: kubectl drain of the Kubernetes nodes at these places, 0 the first by name
	"uncordon":    cmdUncordon,    // uncordon PLACE...: they take Pods again
	"machine":     cmdMachine,     // machine crash|partition CLUSTER, then boot|heal: a Kubernetes node that one primary runs on
	"cli":         cmdCli,         // [!] cli CLUSTER primary|replica SHARD [user=U password=P] COMMAND...: stdout is the reply; @primary/1 in it is a node id
	"cli-traffic": cmdCliTraffic,  // cli-traffic start|stop CLUSTER [user=U password=P]: SETs and GETs by valkey-cli, none lost
	"traffic":     cmdTraffic,     // traffic start CLUSTER [user=U password=P] [by=name], stop [gap=DURATION] [lost=N] [wrong=N] [dropped=N]: writes meanwhile
	"fill":        cmdFill,        // fill CLUSTER NUMBERMB [ttl=EVERY] [user=U password=P]: many keys, one in EVERY with a time to live
	"treasure":    cmdTreasure,    // treasure bury|dig CLUSTER: data of every kind, functions and a subscriber; then all is there
	"filled":      cmdFilled,      // filled CLUSTER: all of them are there, by value and time to live
	"watch":       cmdWatch,       // watch copies CLUSTER NUMBER [user=U password=P]: count every slot's synced copies, wanting so many
	"unwatch":     cmdUnwatch,     // unwatch [below=DURATION] [least=N] [failovers=N]: the bars, for the worst shard
	"apiserver":   cmdAPIServer,   // apiserver stop, then resume: nobody gets an answer from the API server
	"sever":       cmdSever,       // sever CLUSTER [primary|replica SHARD]...: these reach each other and their machines, and nobody else
	"mend":        cmdMend,        // mend: what sever has cut
	"stray":       cmdStray,       // stray CLUSTER SHARD: a client beside a primary, on its machine | stray stop until=DURATION: none of its writes was taken later
	"apart":       cmdApart,       // apart CLUSTER: no zone has two members of a shard
	"swap":        cmdSwap,        // swap A B ROUNDS: a Pod of each deleted by force together, on few addresses; the clusters never mix
	"fill-disk":   cmdFillDisk,    // fill-disk CLUSTER primary|replica SHARD: the server can write nothing more to its disk
	"record":      cmdRecord,      // record WHAT: the figures since the last one, for docs/reliability.md
}
