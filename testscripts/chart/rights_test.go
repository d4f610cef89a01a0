package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

const ours = "valkey.gomomento.com/"

var (
	read  = "get list watch"
	write = "create update patch delete"

	// The rights of the operator, all of them. A right that is added has to be added here, with a reason in
	// the chart's _rules.tpl.
	menuRights = map[string]string{
		ours + "valkeyimages": read + " update patch", ours + "valkeyimages/status": "get update patch",
		ours + "valkeyconfigs": read + " update patch", ours + "valkeyconfigs/status": "get update patch",
		ours + "valkeyroles": read + " update patch", ours + "valkeyroles/status": "get update patch",
		"/nodes": read,
	}
	eventRights      = map[string]string{"/events": "create patch", "events.k8s.io/events": "create patch"}
	namespacedRights = map[string]string{
		ours + "valkeyclusters":            read + " update patch",
		ours + "valkeyclusters/status":     "get update patch",
		ours + "valkeyclusters/finalizers": "update",
		ours + "valkeynodes":               read + " " + write,
		ours + "valkeynodes/status":        "get update patch",
		ours + "valkeynodes/finalizers":    "update",
		"/pods":                            read + " create patch delete",
		"/configmaps":                      read + " " + write,
		"/services":                        read + " " + write,
		"/secrets":                         read + " " + write,
		"policy/poddisruptionbudgets":      read + " " + write,
	}
	leaseRights = map[string]string{
		"coordination.k8s.io/leases":                 "create",
		"coordination.k8s.io/leases/valkey-operator": "get update",
	}
)

// union merges tables of rights.
func union(tables ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}

// rights lists what rules grant, as "group/resource", or "group/resource/name", to verbs in a fixed order.
func rights(rules []rbacv1.PolicyRule) map[string]string {
	verbs := map[string][]string{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				key := strings.Join(append([]string{group, resource}, rule.ResourceNames...), "/")
				verbs[key] = append(verbs[key], rule.Verbs...)
			}
		}
	}
	return joined(verbs)
}

func joined(verbs map[string][]string) map[string]string {
	all := map[string]string{}
	for key, list := range verbs {
		slices.Sort(list)
		all[key] = strings.Join(slices.Compact(list), " ")
	}
	return all
}

func compareRights(t *testing.T, role string, want map[string]string, rules []rbacv1.PolicyRule) {
	t.Helper()
	verbs := map[string][]string{}
	for key, list := range want {
		verbs[key] = strings.Fields(list)
	}
	if diff := cmp.Diff(joined(verbs), rights(rules)); diff != "" {
		t.Errorf("%s (- wanted, + granted):\n%s", role, diff)
	}
}

func TestOperatorHasTheseRightsAndNoOthers(t *testing.T) {
	manifests := render(t)
	everywhere := find[*rbacv1.ClusterRole](t, manifests, "valkey-operator")
	compareRights(t, "ClusterRole", union(menuRights, eventRights, namespacedRights), everywhere.Rules)
	leases := find[*rbacv1.Role](t, manifests, "valkey-operator-leader-election")
	compareRights(t, "Role", union(leaseRights, eventRights), leases.Rules)
	if leases.Namespace != namespace {
		t.Errorf("leases may be written in %q", leases.Namespace)
	}
}

func TestWatchingTwoNamespacesGivesRightsInThoseOnly(t *testing.T) {
	manifests := render(t, "--values", "values/two-namespaces.yaml")
	compareRights(t, "ClusterRole", menuRights, find[*rbacv1.ClusterRole](t, manifests, "valkey-operator").Rules)
	var names []string
	for _, m := range manifests {
		if m.Kind == "Role" {
			names = append(names, m.Namespace+"/"+m.Name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{
		"default/valkey-operator-menu-events", "team-a/valkey-operator", "team-b/valkey-operator",
		"valkey-operator/valkey-operator-leader-election",
	}, names); diff != "" {
		t.Fatal(diff)
	}
	for _, team := range []string{"team-a", "team-b"} {
		compareRights(t, team, union(namespacedRights, eventRights), roleIn(t, manifests, team))
	}
	compareRights(t, "default", eventRights, roleIn(t, manifests, "default"))
}

// roleIn returns the rules of the only Role in a namespace.
func roleIn(t *testing.T, manifests []manifest, in string) []rbacv1.PolicyRule {
	t.Helper()
	for _, m := range manifests {
		if role, ok := m.object.(*rbacv1.Role); ok && role.Namespace == in {
			return role.Rules
		}
	}
	t.Fatalf("no Role in %s", in)
	return nil
}

func TestEveryBindingIsOfAnOwnRoleToTheOperatorAlone(t *testing.T) {
	for name, args := range valuesFiles(t) {
		for _, m := range render(t, args...) {
			ref, subjects := boundBy(m)
			if ref.Name == "" || ref.Name == "valkey-menu-reader" {
				continue
			}
			want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "valkey-operator", Namespace: namespace}}
			if diff := cmp.Diff(want, subjects); diff != "" || ref.Name != m.Name {
				t.Errorf("%s: %s %s binds %s to others:\n%s", name, m.Kind, m.Name, ref.Name, diff)
			}
		}
	}
}

func boundBy(m manifest) (rbacv1.RoleRef, []rbacv1.Subject) {
	switch binding := m.object.(type) {
	case *rbacv1.ClusterRoleBinding:
		return binding.RoleRef, binding.Subjects
	case *rbacv1.RoleBinding:
		return binding.RoleRef, binding.Subjects
	}
	return rbacv1.RoleRef{}, nil
}

// Wildcards, and the resources through which rights could be widened.
func TestNoRoleReachesForMore(t *testing.T) {
	forbidden := []string{"*", "pods/exec", "pods/attach", "pods/ephemeralcontainers", "roles", "clusterroles", "serviceaccounts/token",
		"escalate", "bind", "impersonate", "deletecollection"}
	for name, args := range valuesFiles(t) {
		for _, m := range render(t, args...) {
			for _, rule := range rulesOf(m) {
				for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs) {
					if slices.Contains(forbidden, word) {
						t.Errorf("%s: %s %s grants %q", name, m.Kind, m.Name, word)
					}
				}
			}
		}
	}
}

func rulesOf(m manifest) []rbacv1.PolicyRule {
	switch role := m.object.(type) {
	case *rbacv1.ClusterRole:
		return role.Rules
	case *rbacv1.Role:
		return role.Rules
	}
	return nil
}

func TestPersonasHaveTheirSideOfTheMenu(t *testing.T) {
	menu := func(verbs string) map[string]string {
		return map[string]string{ours + "valkeyimages": verbs, ours + "valkeyconfigs": verbs, ours + "valkeyroles": verbs}
	}
	work := func(clusters string) map[string]string {
		return map[string]string{ours + "valkeyclusters": clusters, ours + "valkeynodes": read}
	}
	manifests := render(t, "--set", "tenantRoles.create=true")
	for name, want := range map[string]map[string]string{
		"valkey-platform":    union(menu(read+" "+write), work(read)),
		"valkey-product":     union(menu(read), work(read+" "+write)),
		"valkey-viewer":      work(read),
		"valkey-menu-reader": menu(read),
	} {
		compareRights(t, name, want, find[*rbacv1.ClusterRole](t, manifests, name).Rules)
	}
}

func TestPersonasAggregateOnlyWhenAsked(t *testing.T) {
	for set, want := range map[string]map[string][]string{
		"tenantRoles.create=true":                            {},
		"tenantRoles.create=true,tenantRoles.aggregate=true": {"valkey-product": {"admin", "edit"}, "valkey-viewer": {"view"}},
	} {
		got := map[string][]string{}
		for _, m := range render(t, "--set", set) {
			for label := range m.Labels {
				if target, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); ok {
					got[m.Name] = append(got[m.Name], target)
					slices.Sort(got[m.Name])
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %s:\n%s", set, diff)
		}
	}
}
