import type { JsonSchema } from '../../core/fidelity.ts';

export const textSchema: JsonSchema = { type: 'string' };
export const textsSchema: JsonSchema = { type: 'array', items: textSchema };
export const oneOrMoreTexts: JsonSchema = { anyOf: [textSchema, textsSchema] };
export const tokenNumbers: JsonSchema = { type: 'array', items: { type: 'integer', minimum: 0 } };
/** Texts or token numbers, one or several. */
export const promptsSchema: JsonSchema = {
  anyOf: [textSchema, textsSchema, tokenNumbers, { type: 'array', items: tokenNumbers }],
};
export const base64Schema: JsonSchema = { type: 'string', contentEncoding: 'base64' };
export const picturesSchema: JsonSchema = { type: 'array', items: base64Schema };
export const textOrNumber: JsonSchema = { type: ['string', 'integer'] };
export const objectSchema: JsonSchema = { type: 'object' };
export const objectsSchema: JsonSchema = { type: 'array', items: objectSchema };
/** `{"15496": -100}`, or pairs. */
export const biasSchema: JsonSchema = {
  anyOf: [
    { type: 'object', additionalProperties: { type: 'number' } },
    { type: 'array', items: { type: 'array' } },
  ],
};
/** The messages of a chat; their other members are documented by position. */
export const messagesSchema: JsonSchema = {
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    properties: {
      role: textSchema,
      content: { anyOf: [textSchema, objectsSchema, { type: 'null' }] },
    },
    required: ['role'],
  },
};
