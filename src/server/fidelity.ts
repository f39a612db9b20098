import type { EndpointFidelity } from '../core/fidelity.ts';
import { inspectorFidelity } from '../inspector/routes.ts';
import { downloadFidelity } from '../protocols/admin/downloads.ts';
import { mcpAdminFidelity } from '../protocols/admin/mcp.ts';
import { packFidelity } from '../protocols/admin/packs.ts';
import { adminFidelity } from '../protocols/admin/routes.ts';
import { comfyFidelity } from '../protocols/comfy/fields.ts';
import type { EndpointShape } from '../protocols/endpoint.ts';
import { fieldTablesOf } from '../protocols/fidelity/fidelity.ts';
import { modelMemoryFidelity } from '../protocols/llamacpp/models.ts';
import { legacyFidelity, taskFidelity } from '../protocols/native/generate.ts';
import { nativeSoundFidelity, webPageFidelity } from '../protocols/native/routes.ts';
import { transcribeFidelity } from '../protocols/native/speech.ts';
import { streamFidelity } from '../protocols/native/streams.ts';
import { tokenFidelity } from '../protocols/native/tokens.ts';
import { speechFidelity } from '../protocols/openai/audio/speech.ts';
import { transcriptionFidelities } from '../protocols/openai/audio/transcription.ts';
import { imagesFidelity } from '../protocols/openai/images/fields.ts';
import { realtimeFidelity } from '../protocols/realtime/fields.ts';
import { responsesFidelity } from '../protocols/responses/fields.ts';
import { vitsFidelity, xttsFidelity } from '../protocols/xtts/routes.ts';

/** What every dialect does with every field, by the page under docs/apis/ that documents it. */
export function fidelityByPage(
  endpoints: readonly EndpointShape[],
): Readonly<Record<string, readonly EndpointFidelity[]>> {
  const tablesOf = (name: string, dialect: string) =>
    fieldTablesOf(
      dialect,
      endpoints.filter(({ family }) => family.name === name),
    );
  return {
    native: tablesOf('native', 'Native text API'),
    audio: [
      ...transcriptionFidelities,
      transcribeFidelity,
      speechFidelity,
      ...nativeSoundFidelity,
      ...xttsFidelity,
      vitsFidelity,
    ],
    openai: [...tablesOf('openai', 'OpenAI'), ...imagesFidelity],
    realtime: realtimeFidelity,
    responses: responsesFidelity,
    messages: tablesOf('messages', 'Messages'),
    ollama: tablesOf('ollama', 'Ollama'),
    llamacpp: tablesOf('llamacpp', 'llama.cpp server'),
    sdapi: tablesOf('sdapi', 'Stable Diffusion web UI'),
    comfy: comfyFidelity,
  };
}

/** Small endpoints, which only the OpenAPI document describes. */
export const smallEndpoints = [
  taskFidelity,
  streamFidelity,
  ...tokenFidelity,
  legacyFidelity,
  webPageFidelity,
  modelMemoryFidelity,
  ...adminFidelity,
  ...downloadFidelity,
  ...mcpAdminFidelity,
  ...packFidelity,
  ...inspectorFidelity,
];
