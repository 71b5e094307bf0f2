{{- /* Named templates that several files use. All objects are named after the release. */ -}}

{{- define "tallybook.selector" -}}
app.kubernetes.io/name: tallybook
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tallybook.labels" -}}
{{ include "tallybook.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The kind of the workload, as kubectl writes it. */ -}}
{{- define "tallybook.workload" -}}
{{ if eq .Values.database.kind "sqlite" }}statefulset{{ else }}deployment{{ end }}
{{- end }}

{{- define "tallybook.claim" -}}
{{ .Values.database.volume.existingClaim | default .Release.Name }}
{{- end }}

{{- /* The settings, as the data of the ConfigMap. Fails if the values contradict each other. */ -}}
{{- define "tallybook.settings" -}}
{{- $reserved := list "HOST" "PORT" "ALLOWED_HOSTS" "TRUSTED_PROXIES" "SHUTDOWN_GRACE_SECS" }}
{{- if and (eq .Values.database.kind "sqlite") (gt (int .Values.replicas) 1) }}
{{- fail "Only one server can use the embedded database. Set `replicas` to 1, or `database.kind` to mysql." }}
{{- end }}
{{- if and (eq .Values.database.kind "mysql") (not .Values.secretName) }}
{{- fail "MySQL needs a Secret with DATABASE_URL. Create it, and set `secretName` to its name." }}
{{- end }}
{{- if and .Values.route.enabled (not .Values.hosts) }}
{{- fail "A route needs a host name. Add it to `hosts`." }}
{{- end -}}
HOST: 0.0.0.0
PORT: "3000"
ALLOWED_HOSTS: {{ join "," .Values.hosts | default "localhost" | quote }}
{{- if and .Values.hosts (not (hasKey .Values.settings "PUBLIC_URL")) }}
PUBLIC_URL: {{ first .Values.hosts | printf "https://%s" | quote }}
{{- end }}
{{- if .Values.trustedProxies }}
TRUSTED_PROXIES: {{ join "," .Values.trustedProxies | quote }}
{{- end }}
SHUTDOWN_GRACE_SECS: {{ .Values.shutdownGraceSecs | quote }}
{{- range $name, $value := .Values.settings }}
{{- if has $name $reserved }}
{{- fail (printf "The chart sets %s. Remove it from `settings`, and use the chart's own value." $name) }}
{{- end }}
{{- if regexMatch "^DATABASE_URL$|_(KEY|PASSWORD|SECRET|TOKEN)$" $name }}
{{- fail (printf "%s is a secret. Put it into the Secret that `secretName` names." $name) }}
{{- end }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}
