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
