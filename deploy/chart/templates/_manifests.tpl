{{/* The documents of a bundle, which is a file of `manifests` as deploy has it, with everything of the namespace drydock in that of the release. A document without a namespace that needs one gets `.into`. */}}
{{- define "drydock.bundle" -}}
{{- range splitList "\n---\n" (.root.Files.Get (printf "manifests/%s.yaml" .name)) }}
{{- $doc := fromYaml . }}
{{- include "drydock.document" (dict "root" $.root "doc" $doc "into" ($.into | default "")) }}
{{- end }}
{{- end }}

{{/* One document, set down. */}}
{{- define "drydock.document" -}}
{{- $release := .root.Release.Namespace }}
{{- $meta := .doc.metadata }}
{{- if and .into (not $meta.namespace) }}{{ $_ := set $meta "namespace" .into }}{{ end }}
{{- if eq ($meta.namespace | default "") "drydock" }}{{ $_ := set $meta "namespace" $release }}{{ end }}
{{- range .doc.subjects }}
{{- if eq (.namespace | default "") "drydock" }}{{ $_ := set . "namespace" $release }}{{ end }}
{{- end }}
---
{{ toYaml .doc }}
{{ end }}

{{/* A Deployment with the image, the environment and the place that the values give it. */}}
{{- define "drydock.placed" -}}
{{- $root := .root }}
{{- $doc := .doc }}
{{- $spec := $doc.spec.template.spec }}
{{- $container := index $spec.containers 0 }}
{{- with $root.Values }}
{{- $_ := set $doc.spec "replicas" (int .replicas) }}
{{- $tag := .image.tag | default $root.Chart.AppVersion }}
{{- $_ := set $container "image" (ternary (printf "%s@%s" .image.repository .image.digest) (printf "%s:%s" .image.repository $tag) (ne .image.digest "")) }}
{{- $_ := set $container "imagePullPolicy" .image.pullPolicy }}
{{- if .imagePullSecrets }}{{ $_ := set $spec "imagePullSecrets" .imagePullSecrets }}{{ end }}
{{- $_ := set $container "env" (concat $container.env .env) }}
{{- if .resources }}{{ $_ := set $container "resources" .resources }}{{ end }}
{{- if .nodeSelector }}{{ $_ := set $spec "nodeSelector" .nodeSelector }}{{ end }}
{{- if .tolerations }}{{ $_ := set $spec "tolerations" .tolerations }}{{ end }}
{{- if .affinity }}{{ $_ := set $spec "affinity" .affinity }}{{ end }}
{{- if .priorityClassName }}{{ $_ := set $spec "priorityClassName" .priorityClassName }}{{ end }}
{{- end }}
{{- end }}
