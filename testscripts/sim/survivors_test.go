package sim

// survivors are the mutants that nothing tells from the operator, each with why.
var survivors = map[string]string{}
