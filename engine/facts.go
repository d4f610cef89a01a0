package engine

// Facts are the named conclusions that rules may refer to. The expr tags are
// the vocabulary of the rules' conditions in cue/rules; a name that is not
// here is a compile error at start.
type Facts struct {
	// Working says that the operator may change things: the cluster is guarded,
	// not paused and not being deleted.
	Working bool         `expr:"working"`
	Cluster ClusterFacts `expr:"cluster"`
	Spec    SpecFacts    `expr:"spec"`
	Objects ObjectFacts  `expr:"objects"`
	Budget  BudgetFacts  `expr:"budget"`
	Nodes   NodeFacts    `expr:"nodes"`
	Members MemberFacts  `expr:"members"`
	Slots   SlotFacts    `expr:"slots"`
	Forming FormingFacts `expr:"forming"`
	Healing HealingFacts `expr:"healing"`
	Scaling ScalingFacts `expr:"scaling"`
	Rolling RollingFacts `expr:"rolling"`
	// Draining is about cordoned Kubernetes nodes.
	Draining DrainingFacts `expr:"draining"`
	Shards   []ShardFacts  `expr:"shards"`
	// Certificate is empty without TLS.
	Certificate CertificateFacts `expr:"certificate"`
	// Credentials say what is due about the system passwords.
	Credentials CredentialFacts `expr:"credentials"`
}

// ClusterFacts describe the ValkeyCluster object.
type ClusterFacts struct {
	Deleting bool `expr:"deleting"`
	Paused   bool `expr:"paused"`
	// Guarded says that the finalizer is on, so that a deletion cannot pass unseen.
	Guarded bool `expr:"guarded"`
	// Creating says that the cluster has not been complete yet.
	Creating bool `expr:"creating"`
	// TargetRecorded says that status holds the topology that the bootstrap builds.
	TargetRecorded bool `expr:"targetRecorded"`
	// Target is the topology being built or kept.
	Target Topology `expr:"target"`
	// Remains is what a deletion still has to remove, as "Kind/name".
	Remains []string `expr:"remains"`
}

// SpecFacts say whether the specs may be carried out.
type SpecFacts struct {
	Accepted bool   `expr:"accepted"`
	Problem  string `expr:"problem"`
	// Repairable says that nodes which are lost may be replaced, from what the others record if need be.
	Repairable bool `expr:"repairable"`
}

// ObjectFacts compare owned objects with what they should be.
type ObjectFacts struct {
	// Credentials says that the Secret with the system passwords is whole.
	Credentials bool `expr:"credentials"`
	// Stale are the objects to create or mend, as "Kind/name", sorted; none while the specs are not accepted.
	Stale []string `expr:"stale"`
	// Strays are owned objects whose node is gone, as "Kind/name", sorted.
	Strays []string `expr:"strays"`
}

// BudgetFacts compare the PodDisruptionBudget with what may be evicted now.
type BudgetFacts struct {
	// Keep is how many Pods must stay.
	Keep int `expr:"keep"`
	// Loose says that it keeps fewer, or that there is none as it should be.
	Loose bool `expr:"loose"`
	// Tight says that it keeps more than need be. While it is to keep all of them, one too many is no matter.
	Tight bool `expr:"tight"`
}

// NodeFacts sort the nodes by what is to be done with them. Names are sorted.
type NodeFacts struct {
	// Names are all ValkeyNodes.
	Names []string `expr:"names"`
	// Missing are the nodes the target topology lacks.
	Missing []NewNode `expr:"missing"`
	// Unprovisioned have no Pod, or no ConfigMap for it, and never had a server.
	Unprovisioned []string `expr:"unprovisioned"`
	// Dead have lost their Pod or its container for good.
	Dead []string `expr:"dead"`
	// Misconceived have not joined and do not have the spec they should: no data is on them.
	Misconceived []string `expr:"misconceived"`
	// Surplus are more than the target topology asks for and have not joined.
	Surplus []string `expr:"surplus"`
	// Starting are waiting for their Pod to run, each with why: "name (ErrImagePull: …)".
	Starting []string `expr:"starting"`
	// Silent have a running Pod whose server does not answer, each with why.
	Silent []string `expr:"silent"`
	// Hanging are on their way out, and their server neither answers nor has ended, each with why.
	Hanging []string `expr:"hanging"`
	// Unannotated have a Pod that lacks an annotation it should have; none while the specs are not accepted.
	Unannotated []string `expr:"unannotated"`
	// Unrecorded are nodes whose server has settings live that the node does not record yet, with these.
	Unrecorded []SettingChange `expr:"unrecorded"`
	// Answering counts the servers that answer and have loaded.
	Answering int `expr:"answering"`
	// Joining are members in working order whose lifecycle still says Joining.
	Joining []string `expr:"joining"`
	// Unsettled answer and are not in working order yet: they have to meet the others, or to sync.
	Unsettled []string `expr:"unsettled"`
}

// MemberFacts describe the cluster as its servers see it.
type MemberFacts struct {
	// Agreed says that every answering server knows every other, by bus links that stand, and nobody unknown.
	Agreed bool `expr:"agreed"`
	// Departed are members that belong to no node, unreachable, holding nothing another member could take over.
	Departed []Oblivion `expr:"departed"`
	// Lingering are ids of members without a node that some server still holds for alive, or for whose shard a replica is
	// still to be elected.
	Lingering []string `expr:"lingering"`
	// Excess are members beyond the target that can leave at once: what fewer replicas per shard leave over.
	Excess []Retirement `expr:"excess"`
	// Strayed are replicas that follow the primary of another shard, or one that died before it got a slot, with that of
	// their own.
	Strayed []Attachment `expr:"strayed"`
	// Foreign are nodes whose server leads another shard than its own, by the index of that shard.
	Foreign []string `expr:"foreign"`
	// Reclaims are the failovers that give these shards back to servers of their own, where one is in sync.
	Reclaims []Succession `expr:"reclaims"`
	// UsersStale are nodes whose server has loaded another ACL file than the one it should have, or whose users somebody
	// has edited since, sorted; none while the specs are not accepted.
	UsersStale []string `expr:"usersStale"`
	// Unevicted are nodes whose server has the users it should have, and still has connections of some who have lost
	// a password with it, sorted.
	Unevicted []string `expr:"unevicted"`
	// Drifted are servers whose live settings are not what their nodes record, with what they should be.
	Drifted []SettingChange `expr:"drifted"`
	// Untold are servers that have not been told settings that the specs newly ask for, with these, and with
	// what has drifted besides.
	Untold []SettingChange `expr:"untold"`
}

// SlotFacts describe who serves the 16384 slots.
type SlotFacts struct {
	// Covered counts the slots that a reachable primary holds by the word of those that answer.
	Covered int `expr:"covered"`
	// Agreed says that no two servers name different owners for a slot.
	Agreed bool `expr:"agreed"`
	// Known says that every answering server knows an owner for every slot.
	Known bool `expr:"known"`
	// Orphaned counts the slots that nobody holds any more and that servers are about to be given, empty.
	Orphaned int `expr:"orphaned"`
}

// FormingFacts are the steps of a bootstrap that are open now.
type FormingFacts struct {
	// Complete says that every node of the target answers, with a spec as it should be.
	Complete      bool           `expr:"complete"`
	Preparations  []Preparation  `expr:"preparations"`
	Introductions []Introduction `expr:"introductions"`
	Attachments   []Attachment   `expr:"attachments"`
	// Unready says what is still missing before the cluster is Active, "" when nothing is.
	Unready string `expr:"unready"`
}

// HealingFacts are the failovers that are due.
type HealingFacts struct {
	// Quorum says that most of the primaries that hold slots answer, so that replicas can be elected.
	Quorum bool `expr:"quorum"`
	// HandOvers let primaries go whose Pod is being deleted while their server still runs.
	HandOvers []Succession `expr:"handOvers"`
	// Elections are to replace primaries that are certainly dead, by the votes of the others if they have a quorum.
	Elections []Succession `expr:"elections"`
	// TakeOvers are to replace primaries whose servers have ended, if too few are left to vote.
	TakeOvers []Succession `expr:"takeOvers"`
}

// ScalingFacts are the steps between who holds the slots and who should.
type ScalingFacts struct {
	// Remaining counts the slots that are still to move.
	Remaining int `expr:"remaining"`
	// Running counts the slot migration jobs under way.
	Running int `expr:"running"`
	// Moves are the jobs that can begin now, at most one a source and one a target (Valkey 9.0).
	Moves []Move `expr:"moves"`
	// Noisy are those who have slots to give and would log a line for each, with the loglevel they are to have meanwhile.
	Noisy []SettingChange `expr:"noisy"`
	// Hushed are servers that have that loglevel, with the one they should have when they have no slots to give.
	Hushed []SettingChange `expr:"hushed"`
	// Carries are the slots to carry over one by one now, where a server does not know such jobs.
	Carries []Move `expr:"carries"`
	// Recalls are the sources with a running job that has become useless.
	Recalls []Recall `expr:"recalls"`
	// Unmarkings are marks of slots on the move that lead nowhere.
	Unmarkings []Unmarking `expr:"unmarkings"`
	// Drained are members of shards that leave and hold nothing any more.
	Drained []Retirement `expr:"drained"`
	// Blocked says why the slots cannot move at all: the servers that stay have no room. "" when they have.
	Blocked string `expr:"blocked"`
	// Waiting says why no slot moves although some should, "" when nothing is in the way.
	Waiting string `expr:"waiting"`
}

// RollingFacts are the steps that replace members by ones with the specs of today. They are empty while a cluster forms, or
// the specs are not accepted.
type RollingFacts struct {
	// Outdated are the members to be replaced, of all shards, in the order of the shards.
	Outdated []string `expr:"outdated"`
	// Begun says that some server with the specs of today is there.
	Begun bool `expr:"begun"`
	// Stalled is why servers with the specs of today do not come up, "" when nothing is wrong with them.
	Stalled string `expr:"stalled"`
	// Surge are the servers to create for the shard under way.
	Surge []NewNode `expr:"surge"`
	// Successions is the failover that lets an old primary go, if it is time for it.
	Successions []Succession `expr:"successions"`
	// Spreading is a failover that spreads the primaries more evenly over zones, when nothing else is under way.
	Spreading []Succession `expr:"spreading"`
	// Retirements are the old members that are not needed any more.
	Retirements []Retirement `expr:"retirements"`
	// Waiting says what the shard under way waits for.
	Waiting string `expr:"waiting"`
}

// DrainingFacts are the steps that replace members whose Kubernetes node is cordoned.
type DrainingFacts struct {
	// Members are those members, in the order of the shards.
	Members []string `expr:"members"`
	// Surge are the servers to create in their place.
	Surge []NewNode `expr:"surge"`
	// Successions are the failovers that let primaries go, for which it is time.
	Successions []Succession `expr:"successions"`
	// Retirements are those that are not needed any more.
	Retirements []Retirement `expr:"retirements"`
	// Waiting says what the first of their shards waits for.
	Waiting string `expr:"waiting"`
}

// ShardFacts describe one shard of the target topology.
type ShardFacts struct {
	Index int `expr:"index"`
	// Primary is the node that holds the shard's slots, "" when none is known.
	Primary string `expr:"primary"`
	Slots   int    `expr:"slots"`
	Nodes   int    `expr:"nodes"`
	InSync  int    `expr:"inSync"`
}
