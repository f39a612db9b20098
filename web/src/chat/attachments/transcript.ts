import { read } from '../../api/call.ts';
import { texts } from './texts.ts';

/** What is said in a recording, written down by the server. */
export async function transcriptOf(recording: Blob): Promise<string> {
  const form = new FormData();
  const name =
    recording instanceof File
      ? recording.name
      : `${texts.recording}.${recording.type.includes('ogg') ? 'ogg' : 'webm'}`;
  form.append('file', recording, name);
  form.append('model', 'local');
  const { text } = await read<{ text: string }>('v1/audio/transcriptions', { body: form });
  return text.trim();
}
