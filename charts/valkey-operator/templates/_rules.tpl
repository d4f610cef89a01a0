{{/*
What the operator may do in a namespace it looks after. Bound everywhere, or with watchNamespaces only
in the namespaces named. No wildcard, no pods/exec: it speaks to Valkey over the network.
*/}}
{{- define "valkey-operator.namespacedRules" -}}
# Clusters belong to product teams. The operator never creates or deletes one; it writes its finalizer,
# and RBAC knows nothing smaller than the object for that.
- apiGroups: [valkey.gomomento.com]
  resources: [valkeyclusters]
  verbs: [get, list, watch, update, patch]
- apiGroups: [valkey.gomomento.com]
  resources: [valkeynodes]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [valkey.gomomento.com]
  resources: [valkeyclusters/status, valkeynodes/status]
  verbs: [get, update, patch]
# An owner reference with blockOwnerDeletion needs this where the admission plugin
# OwnerReferencesPermissionEnforcement is on.
- apiGroups: [valkey.gomomento.com]
  resources: [valkeyclusters/finalizers, valkeynodes/finalizers]
  verbs: [update]
# Pods are replaced, never rewritten: annotations and finalizers are patched, and there is no update.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [configmaps, services]
  verbs: [get, list, watch, create, update, patch, delete]
# Secrets, verb by verb. list and watch feed a cache of those labelled
# app.kubernetes.io/managed-by=valkey-operator; RBAC cannot say "with this label only", so the selector
# narrows what the operator holds in memory, and watchNamespaces narrows what it could read. get reads a
# cluster's TLS Secret, which bears no such label, by the name in its spec. The others keep
# {cluster}-operator-auth: made once, rotated, restored, removed with its cluster.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, update, patch, delete]
{{ include "valkey-operator.eventRules" . }}
{{- end }}

{{/* Repeats of an Event are counted on the first one, which is a patch. */}}
{{- define "valkey-operator.eventRules" -}}
- apiGroups: ["", events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* The part that has no namespace: the menu, and the nodes with their zones and cordons. */}}
{{- define "valkey-operator.clusterRules" -}}
# update and patch set the finalizer that keeps a menu object while a cluster uses it.
- apiGroups: [valkey.gomomento.com]
  resources: [valkeyimages, valkeyconfigs, valkeyroles]
  verbs: [get, list, watch, update, patch]
- apiGroups: [valkey.gomomento.com]
  resources: [valkeyimages/status, valkeyconfigs/status, valkeyroles/status]
  verbs: [get, update, patch]
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
{{- end }}

{{/* A RoleBinding of the operator's ServiceAccount. Takes (list root namespace role). */}}
{{- define "valkey-operator.binding" -}}
{{- $root := index . 0 -}}{{- $namespace := index . 1 -}}{{- $role := index . 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $role }}
  namespace: {{ $namespace }}
  labels: {{- include "valkey-operator.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $role }}
subjects:
  - kind: ServiceAccount
    name: valkey-operator
    namespace: {{ $root.Release.Namespace }}
{{- end }}
