package chart

import (
	"strings"
	"testing"
)

// refusals are values that are wrong, and what of the message lets a user find the mistake: the path, and what would
// be right.
var refusals = map[string][]string{
	"config.defaultZoneSpread=always":                   {"/config/defaultZoneSpread", "'bestEffort', 'required'"},
	"config.defaultZonespread=required":                 {"/config", "'defaultZonespread' not allowed"},
	"config.nodeTimeout=5s":                             {"/config/nodeTimeout", "got string, want integer"},
	"config.nodeTimeout=50":                             {"/config/nodeTimeout", "minimum: got 50, want 500"},
	"config.maxConcurrentRollouts=0":                    {"/config/maxConcurrentRollouts", "minimum: got 0, want 1"},
	"config.requireACL=maybe":                           {"/config/requireACL", "got string, want boolean"},
	"config.watchNamespaces=team-a":                     {"/config/watchNamespaces", "got string, want array"},
	"config.watchNamespaces={Team_A}":                   {"/config/watchNamespaces/0", "'Team_A' does not match pattern"},
	"config.watchNamespaces={a,a}":                      {"/config/watchNamespaces", "items at 0 and 1 are equal"},
	"config.logLevel=verbose":                           {"/config/logLevel", "'debug', 'info', 'warn', 'error'"},
	"config.clusterDomain=.local":                       {"/config/clusterDomain", "does not match pattern"},
	"config.nodeTimeout=null":                           {"/config", "missing property 'nodeTimeout'"},
	"policies.size=x":                                   {`policies: "size" is no name of a CUE file; it must end in .cue`},
	"image.pullPolicy=always":                           {"/image/pullPolicy", "'Always', 'IfNotPresent', 'Never'"},
	"image.digest=sha256:abc":                           {"/image/digest", "does not match pattern"},
	"image.name=x":                                      {"/image", "'name' not allowed"},
	"replicas=two":                                      {"/replicas", "got string, want integer"},
	"replicaCount=3":                                    {"'replicaCount' not allowed"},
	"podDisruptionBudget.maxUnavailable=0":              {"/podDisruptionBudget/maxUnavailable", "want 1"},
	"metrics.alerts.certificateExpiryDays=1":            {"/metrics/alerts/certificateExpiryDays", "want 3"},
	"metrics.serviceMonitor.interval=30":                {"/metrics/serviceMonitor/interval", "want string"},
	"networkPolicy.apiServerCIDRs={10.0.0.1}":           {"/networkPolicy/apiServerCIDRs/0", "does not match pattern"},
	"networkPolicy.apiServerPorts=null":                 {"/networkPolicy", "missing property 'apiServerPorts'"},
	"tenantRoles.enabled=true":                          {"/tenantRoles", "'enabled' not allowed"},
	"goMemoryLimit=256Mi":                               {"/goMemoryLimit", "does not match pattern"},
	`podLabels.app\.kubernetes\.io/name=x`:              {"podLabels: app.kubernetes.io/name is the chart's own"},
	"crds.install=yes please":                           {"/crds/install", "got string, want boolean"},
	"resources.limit.memory=1Gi":                        {"/resources", "'limit' not allowed"},
	"serviceAccount.annotations.a=true":                 {"/serviceAccount/annotations/a", "got boolean, want string"},
	"nodeSelector.a.b=x":                                {"/nodeSelector/a", "got object, want string"},
	"image.pullSecrets={Not A Name}":                    {"/image/pullSecrets/0", "does not match pattern"},
	"config.watchNamespaces={" + tooLong + "}":          {"/config/watchNamespaces/0", "maxLength: got 64, want 63"},
	"metrics.dashboard.label.grafana=1":                 {"/metrics/dashboard", "'label' not allowed"},
	"networkPolicy.apiServerPorts={70000}":              {"/networkPolicy/apiServerPorts/0", "maximum: got 70,000, want 65,535"},
	"tenantRoles.menuReaders=system:authenticated":      {"/tenantRoles/menuReaders", "got string, want array"},
	"config.defaultZoneSpread=,config.logLevel=verbose": {"/config/defaultZoneSpread", "/config/logLevel"},
}

func TestWrongValuesAreRefusedByName(t *testing.T) {
	for set, says := range refusals {
		t.Run(set, func(t *testing.T) {
			_, err := helm(t, "template", release, chartDir, "--set", set)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, words := range says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("the message lacks %q:\n%v", words, err)
				}
			}
		})
	}
}

const tooLong = "n123456789n123456789n123456789n123456789n123456789n123456789n123"

func TestAnOlderKubernetesIsRefused(t *testing.T) {
	_, err := helm(t, "template", release, chartDir, "--kube-version", "1.29.9")
	if err == nil || !strings.Contains(err.Error(), "requires kubeVersion: >=1.30.0-0") {
		t.Errorf("got %v", err)
	}
	template(t, "--kube-version", "1.30.0")
}
