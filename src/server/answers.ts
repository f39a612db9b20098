import { inspectorAnswers } from '../inspector/answers.ts';
import { featureNames } from '../models/engine-kinds.ts';
import { adminAnswers } from '../protocols/admin/answers.ts';
import type { DialectAnswers } from '../protocols/answers.ts';
import { comfyAnswers } from '../protocols/comfy/answers.ts';
import { fidelityAnswers } from '../protocols/fidelity/answers.ts';
import { llamacppAnswers } from '../protocols/llamacpp/answers.ts';
import { mcpAnswers } from '../protocols/mcp/answers.ts';
import { messagesAnswers } from '../protocols/messages/answers.ts';
import { nativeAnswers } from '../protocols/native/answers.ts';
import { ollamaAnswers } from '../protocols/ollama/answers.ts';
import { openaiAnswers } from '../protocols/openai/answers.ts';
import { openapiAnswers } from '../protocols/openapi/answers.ts';
import { realtimeAnswers } from '../protocols/realtime/answers.ts';
import { responsesAnswers } from '../protocols/responses/answers.ts';
import { sdapiAnswers } from '../protocols/sdapi/answers.ts';
import { xttsAnswers } from '../protocols/xtts/answers.ts';

/** The answers of every endpoint in the OpenAPI document. */
export const dialectAnswers: readonly DialectAnswers[] = [
  nativeAnswers(featureNames),
  openaiAnswers,
  realtimeAnswers,
  responsesAnswers,
  messagesAnswers,
  ollamaAnswers,
  llamacppAnswers,
  sdapiAnswers,
  comfyAnswers,
  xttsAnswers,
  adminAnswers,
  inspectorAnswers,
  mcpAnswers,
  fidelityAnswers,
  openapiAnswers,
];
