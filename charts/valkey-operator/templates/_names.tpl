{{/*
Names and labels. The names are fixed, and not made from the release's: the menu is cluster-scoped, so
one Kubernetes cluster has one operator.
*/}}
{{- define "valkey-operator.selector" -}}
app.kubernetes.io/name: valkey-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "valkey-operator.labels" -}}
{{ include "valkey-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "valkey-operator.image" -}}
{{- $image := .Values.image.repository -}}
{{- with .Values.image.registry }}{{ $image = printf "%s/%s" (trimSuffix "/" .) $image }}{{ end -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" $image .Values.image.digest }}
{{- else -}}
{{ printf "%s:%s" $image (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}
{{- end }}

{{/* What the schema could refuse only in words that do not help. */}}
{{- define "valkey-operator.checks" -}}
{{- range $name, $_ := .Values.policies }}
{{- if not (regexMatch "^[a-zA-Z0-9_-][a-zA-Z0-9_.-]*\\.cue$" $name) }}
{{- fail (printf "policies: %q is no name of a CUE file; it must end in .cue and hold only letters, digits, '.', '-' and '_'" $name) }}
{{- end }}
{{- end }}
{{- range $label, $_ := .Values.podLabels }}
{{- if has $label (list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component") }}
{{- fail (printf "podLabels: %s is the chart's own, by which it finds its pods" $label) }}
{{- end }}
{{- end }}
{{- end }}
