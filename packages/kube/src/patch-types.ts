/** Content types of patches: RFC 6902, RFC 7396, and server-side apply. */
export const JSON_PATCH: string = 'application/json-patch+json';
export const MERGE_PATCH: string = 'application/merge-patch+json';
export const APPLY_PATCH: string = 'application/apply-patch+yaml';
