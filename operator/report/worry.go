package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// worrying says that a condition deserves a Warning of its own: something a person should look at, and no other Event
// of the pass speaks of. Accepted is told of by the state, a failed action or rule by the decision.
func worrying(c metav1.Condition) bool {
	switch c.Type {
	case Accepted, Available, Progressing, ACLApplied, Paused:
		return false
	case TLSValid:
		return c.Status == metav1.ConditionFalse
	case Degraded:
		return c.Status == metav1.ConditionTrue && c.Reason != "RuleFailed" && c.Reason != "ActionFailed"
	default:
		return c.Status == metav1.ConditionTrue
	}
}

// said says that the old conditions hold the same sentence already.
func said(old []metav1.Condition, c metav1.Condition) bool {
	for _, o := range old {
		if o.Type == c.Type {
			return o.Status == c.Status && o.Reason == c.Reason && o.Message == c.Message
		}
	}
	return false
}
