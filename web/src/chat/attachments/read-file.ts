import { read } from '../../api/call.ts';
import { newId } from '../../saved/id.ts';
import type { Attachment } from '../model/conversation.ts';
import { kindOf, refusalOf } from './kinds.ts';

/** Input types that the model or the server accepts. */
export interface Capabilities {
  readonly vision: boolean;
  readonly audio: boolean;
  readonly transcribe: boolean;
}

/** Reads a file as an attachment; throws an error for people if it cannot be used. */
export async function attachmentOf(file: File, capabilities: Capabilities): Promise<Attachment> {
  const refusal = refusalOf(file);
  if (refusal) throw new Error(refusal);
  const { name } = file;
  const id = newId();
  const kind = kindOf(file);
  if (kind === 'image') {
    if (!capabilities.vision)
      throw new Error(
        `Cannot attach ${name}: this model does not accept images. Load a model with a projector (--mmproj).`,
      );
    return { id, kind, name, blob: file };
  }
  if (kind === 'audio') {
    if (capabilities.audio) return { id, kind, name, blob: file };
    if (!capabilities.transcribe)
      throw new Error(`Cannot attach ${name}: neither audio input nor speech recognition is available.`);
    return { id, kind: 'text', name: `${name} (transcript)`, text: await transcriptOf(file) };
  }
  if (kind === 'pdf') {
    const { textOfPdf } = await import('./pdf.ts');
    const text = await textOfPdf(file);
    if (text.trim() === '') throw new Error(`Cannot attach ${name}: it contains no text, probably only scanned pages.`);
    return { id, kind: 'text', name, text };
  }
  const text = await file.text();
  if (text.includes('\0')) throw new Error(`Cannot attach ${name}: it is not a text file.`);
  return { id, kind: 'text', name, text };
}

export async function transcriptOf(recording: Blob, signal?: AbortSignal): Promise<string> {
  const form = new FormData();
  const name =
    recording instanceof File ? recording.name : `recording.${recording.type.includes('ogg') ? 'ogg' : 'webm'}`;
  form.append('file', recording, name);
  form.append('model', 'local');
  const { text } = await read<{ text: string }>('v1/audio/transcriptions', { body: form, signal });
  return text.trim();
}
