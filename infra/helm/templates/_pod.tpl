{{- /* The pods of the Deployment and of the StatefulSet. */ -}}

{{- define "tallybook.pod" -}}
metadata:
  labels:
    {{- include "tallybook.selector" . | nindent 4 }}
  annotations:
    # Replaces the pods if a setting changes.
    checksum/settings: {{ print (include "tallybook.settings" .) (toJson .Values.files) | sha256sum }}
spec:
  terminationGracePeriodSeconds: {{ add .Values.shutdownGraceSecs 15 }}
  automountServiceAccountToken: false
  # The variables that Kubernetes adds for each Service are not settings.
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: {{ int .Values.user }}
    {{- if eq .Values.database.kind "sqlite" }}
    # Lets the user write to the volume.
    fsGroup: {{ int .Values.user }}
    fsGroupChangePolicy: OnRootMismatch
    {{- end }}
    seccompProfile:
      type: RuntimeDefault
  {{- if eq .Values.database.kind "mysql" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tallybook.selector" . | nindent 10 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: tallybook
      {{- $repository := required "Set `image.repository` to the image in your registry." .Values.image.repository }}
      image: "{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      ports:
        - name: http
          containerPort: 3000
      envFrom:
        - configMapRef:
            name: {{ .Release.Name }}
        {{- with .Values.secretName }}
        - secretRef:
            name: {{ . }}
        {{- end }}
      {{- if eq .Values.database.kind "sqlite" }}
      env:
        # Takes precedence over a variable of the Secret.
        - name: DATABASE_URL
          value: sqlite:///var/lib/tallybook/tallybook.db
      {{- end }}
      # A first start may create the tables, or wait while another replica creates them.
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 2
        failureThreshold: 180
      # Not ready: the database is out of reach, the replica is shutting down, or there isn't an admin yet. New requests
      # go to other replicas.
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 4
        failureThreshold: 2
      # Does not check the database: an outage of the database must not restart the replicas.
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      lifecycle:
        # Gives every proxy time to notice that the replica is shutting down.
        preStop:
          sleep:
            seconds: 5
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- if eq .Values.database.kind "sqlite" }}
        - name: data
          mountPath: /var/lib/tallybook
        {{- end }}
        {{- if .Values.files }}
        - name: files
          mountPath: /etc/tallybook
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      # On the node's disk. Uploads are written here while they arrive: up to 32 at once, of MAX_FILE_BYTES.
      emptyDir:
        sizeLimit: 5Gi
    {{- if eq .Values.database.kind "sqlite" }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ include "tallybook.claim" . }}
    {{- end }}
    {{- if .Values.files }}
    - name: files
      configMap:
        name: {{ .Release.Name }}-files
    {{- end }}
{{- end }}
