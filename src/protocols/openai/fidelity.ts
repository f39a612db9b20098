import type { EndpointFidelity } from '../../core/fidelity.ts';
import { fidelityOf } from '../fields/table.ts';
import { chatFields, promptFields } from './chat/fields.ts';
import { completionFields } from './completions/fields.ts';
import { embeddingsFidelity } from './embeddings.ts';
import { dialect, generationFields } from './fields.ts';

export const chatFidelity = fidelityOf(dialect, 'POST /v1/chat/completions', chatFields);
export const completionFidelity = fidelityOf(dialect, 'POST /v1/completions', completionFields);
/** To count is to read a chat. */
export const inputTokensFidelity = fidelityOf(dialect, 'POST /v1/chat/completions/input_tokens', {
  model: generationFields.model,
  ...promptFields,
});

export const openaiFidelity: readonly EndpointFidelity[] = [
  chatFidelity,
  completionFidelity,
  inputTokensFidelity,
  embeddingsFidelity,
];
