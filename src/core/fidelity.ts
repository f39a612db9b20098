/** How a request field is handled, for the documentation and `GET /api/extra/fidelity`. */
export type Handling = 'honoured' | 'approximated' | 'ignored' | 'refused';

export interface FieldFidelity {
  readonly field: string;
  readonly handling: Handling;
  readonly note?: string;
}

export interface EndpointFidelity {
  readonly dialect: string;
  readonly endpoint: string;
  readonly fields: readonly FieldFidelity[];
}

/** The fields of the table that this request has. A dot in a name separates the levels of an object. */
export function sentFields(
  body: Readonly<Record<string, unknown>>,
  fields: readonly FieldFidelity[],
): readonly FieldFidelity[] {
  return fields.filter(({ field }) => isSent(body, field.split('.')));
}

export function isSent(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return value !== undefined && value !== null;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false;
  return isSent((value as Readonly<Record<string, unknown>>)[name], rest);
}

/** A JSON schema (draft 2020-12), as the description of the API has them. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}
