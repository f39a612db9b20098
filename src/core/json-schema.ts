/** A JSON schema (draft 2020-12), as the description of the API has them. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}
