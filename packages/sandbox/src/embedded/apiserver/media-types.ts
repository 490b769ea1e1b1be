import { ApiFailure } from './api-failure.ts';

/** The form in which an answer is wanted. */
export interface WantedForm {
  readonly as: 'object' | 'table' | 'metadata' | 'metadataList';
  /** Of `meta.k8s.io`, for the forms that are not the object. */
  readonly version: 'v1' | 'v1beta1';
  /** Indented, as `?pretty` and browsers ask for. */
  readonly pretty: boolean;
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

const FORMS: ReadonlyMap<string, WantedForm['as']> = new Map([
  ['Table', 'table'],
  ['PartialObjectMetadata', 'metadata'],
  ['PartialObjectMetadataList', 'metadataList'],
]);

const JSON_TYPES = new Set(['application/json', '*/*', 'application/*']);

/** The clauses of an Accept header, best first. */
export function acceptClauses(accept: string): readonly Clause[] {
  const clauses = accept.split(',').map((clause) => {
    const [type = '', ...rest] = clause.split(';').map((part) => part.trim());
    const parameters = new Map(
      rest.map((part) => {
        const at = part.indexOf('=');
        return [part.slice(0, at).toLowerCase(), part.slice(at + 1)] as const;
      }),
    );
    return { type: type.toLowerCase(), parameters, quality: Number(parameters.get('q') ?? '1') };
  });
  return clauses.toSorted((a, b) => b.quality - a.quality);
}

/** Chooses the form of an answer about objects. Throws 406 where the client takes none that this server writes. */
export function wantedForm(accept: string | undefined, pretty: boolean): WantedForm {
  const plain: WantedForm = { as: 'object', version: 'v1', pretty };
  if (accept === undefined || accept.trim() === '') return plain;
  for (const { type, parameters } of acceptClauses(accept)) {
    if (!JSON_TYPES.has(type)) continue;
    const form = parameters.get('as');
    if (form === undefined) return plain;
    const as = FORMS.get(form);
    const version = parameters.get('v');
    if (as === undefined || parameters.get('g') !== 'meta.k8s.io') continue;
    if (version === 'v1' || version === 'v1beta1') return { as, version, pretty };
  }
  throw notAcceptable();
}

/** 406, with what this server writes. */
export function notAcceptable(): ApiFailure {
  const message = '406: Not Acceptable\n\nAvailable representations: application/json, application/json;stream=watch';
  return new ApiFailure({ code: 406, reason: 'NotAcceptable', message, details: {} });
}
