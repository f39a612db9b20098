import type { EndpointFidelity } from '../core/fidelity.ts';
import { inspectorFidelity } from '../inspector/routes.ts';
import { mcpAdminFidelity } from '../protocols/admin/mcp.ts';
import { adminFidelity } from '../protocols/admin/routes.ts';
import { comfyFidelity } from '../protocols/comfy/fields.ts';
import { llamacppFidelity } from '../protocols/llamacpp/fields.ts';
import { modelMemoryFidelity } from '../protocols/llamacpp/models.ts';
import { messagesFidelity } from '../protocols/messages/fields.ts';
import { legacyFidelity, taskFidelity } from '../protocols/native/generate.ts';
import { nativeFidelity, nativeSoundFidelity, webPageFidelity } from '../protocols/native/routes.ts';
import { transcribeFidelity } from '../protocols/native/speech.ts';
import { streamFidelity } from '../protocols/native/streams.ts';
import { tokenFidelity } from '../protocols/native/tokens.ts';
import { ollamaFidelity } from '../protocols/ollama/fields.ts';
import { speechFidelity } from '../protocols/openai/audio/speech.ts';
import { transcriptionFidelities } from '../protocols/openai/audio/transcription.ts';
import { imagesFidelity } from '../protocols/openai/images/fields.ts';
import { openaiFidelity } from '../protocols/openai/routes.ts';
import { realtimeFidelity } from '../protocols/realtime/fields.ts';
import { responsesFidelity } from '../protocols/responses/fields.ts';
import { sdapiFidelity } from '../protocols/sdapi/fields.ts';
import { vitsFidelity, xttsFidelity } from '../protocols/xtts/routes.ts';

/** What every dialect does with every field, by the page under docs/apis/ that documents it. */
export const fidelityByPage: Readonly<Record<string, readonly EndpointFidelity[]>> = {
  native: nativeFidelity,
  audio: [
    ...transcriptionFidelities,
    transcribeFidelity,
    speechFidelity,
    ...nativeSoundFidelity,
    ...xttsFidelity,
    vitsFidelity,
  ],
  openai: [...openaiFidelity, ...imagesFidelity],
  realtime: realtimeFidelity,
  responses: responsesFidelity,
  messages: messagesFidelity,
  ollama: ollamaFidelity,
  llamacpp: llamacppFidelity,
  sdapi: sdapiFidelity,
  comfy: comfyFidelity,
};

/** Small endpoints, which only the OpenAPI document describes. */
export const smallEndpoints = [
  taskFidelity,
  streamFidelity,
  ...tokenFidelity,
  legacyFidelity,
  webPageFidelity,
  modelMemoryFidelity,
  ...adminFidelity,
  ...mcpAdminFidelity,
  ...inspectorFidelity,
];
