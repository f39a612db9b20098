import type { EndpointFidelity } from '../../core/fidelity.ts';
import { controlFields, readGenkey } from '../controls/table.ts';
import { listFields } from '../embedding.ts';
import { fidelityOf, honoured, ignored, looseFlag, orElse, readText } from '../fields.ts';
import { readNativeMedia } from '../media.ts';
import { keepOnDisconnect } from '../ticket.ts';

const projector = 'Refused where the loaded model has no projector for it (--mmproj).';

export const generateFields = {
  prompt: honoured(orElse(readText, '')),
  memory: honoured(orElse(readText, '')),
  genkey: honoured(readGenkey, 'a text or a number'),
  kcpp_extra_args: keepOnDisconnect,
  quiet: ignored('without effect in the original too'),
  images: honoured(readNativeMedia, `base64, with or without a data URL in front; the last 64. ${projector}`),
  audio: honoured(readNativeMedia, `as images, with wav, mp3 or flac inside. ${projector}`),
  replace_instruct_placeholders: honoured(orElse(looseFlag, true)),
  ...controlFields,
};

export const embeddingsFields = listFields({ truncate: true });
export const embeddingsFidelity = fidelityOf('Native text API', 'POST /api/extra/embeddings', embeddingsFields);

export const nativeFidelity: readonly EndpointFidelity[] = [
  fidelityOf('Native text API', 'POST /api/v1/generate, /api/extra/generate/stream', generateFields),
  embeddingsFidelity,
];
