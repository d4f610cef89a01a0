package actions

// Registry makes an empty action for each name that a rule may use. The
// fields that bear an expr tag are the arguments the rule must give.
var Registry = map[string]func() Action{
	"activateNodes":        func() Action { return &ActivateNodes{} },
	"adoptCredentials":     func() Action { return &AdoptCredentials{} },
	"annotatePods":         func() Action { return &AnnotatePods{} },
	"applyObjects":         func() Action { return &ApplyObjects{} },
	"attachReplicas":       func() Action { return &AttachReplicas{} },
	"carrySlots":           func() Action { return &CarrySlots{} },
	"copyCertificate":      func() Action { return &CopyCertificate{} },
	"copyCredentials":      func() Action { return &CopyCredentials{} },
	"createCredentials":    func() Action { return &CreateCredentials{} },
	"createNodes":          func() Action { return &CreateNodes{} },
	"declareActive":        func() Action { return &DeclareActive{} },
	"deleteNodes":          func() Action { return &DeleteNodes{} },
	"dropSpentCredentials": func() Action { return &DropSpentCredentials{} },
	"evictUsers":           func() Action { return &EvictUsers{} },
	"failOver":             func() Action { return &FailOver{} },
	"forceFailover":        func() Action { return &ForceFailover{} },
	"forgetMembers":        func() Action { return &ForgetMembers{} },
	"guardCluster":         func() Action { return &GuardCluster{} },
	"guardCredentials":     func() Action { return &GuardCredentials{} },
	"introduceServers":     func() Action { return &IntroduceServers{} },
	"loadACL":              func() Action { return &LoadACL{} },
	"loadCertificate":      func() Action { return &LoadCertificate{} },
	"moveSlots":            func() Action { return &MoveSlots{} },
	"prepareServers":       func() Action { return &PrepareServers{} },
	"provisionNodes":       func() Action { return &ProvisionNodes{} },
	"recallCredentials":    func() Action { return &RecallCredentials{} },
	"recallMoves":          func() Action { return &RecallMoves{} },
	"recordSettings":       func() Action { return &RecordSettings{} },
	"recordTarget":         func() Action { return &RecordTarget{} },
	"removeCluster":        func() Action { return &RemoveCluster{} },
	"removeStrays":         func() Action { return &RemoveStrays{} },
	"renewCredentials":     func() Action { return &RenewCredentials{} },
	"restoreCredentials":   func() Action { return &RestoreCredentials{} },
	"retireNodes":          func() Action { return &RetireNodes{} },
	"returnReplicas":       func() Action { return &ReturnReplicas{} },
	"setBudget":            func() Action { return &SetBudget{} },
	"setSettings":          func() Action { return &SetSettings{} },
	"takeOver":             func() Action { return &TakeOver{} },
	"tellPassword":         func() Action { return &TellPassword{} },
	"unmarkSlots":          func() Action { return &UnmarkSlots{} },
}

// New makes an empty action by its name in the rules, a pointer to its struct.
// It returns nil for a name that is no action.
func New(name string) any {
	fresh, ok := Registry[name]
	if !ok {
		return nil
	}
	return fresh()
}
