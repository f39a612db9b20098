import { FormatError } from '../../../../src/documents/formats/format-error.ts';
import type { Attachment } from '../../conversations/conversation.ts';
import { imageSize } from '../../conversations/image-size.ts';
import { documentFormat, documentText } from '../../documents/formats/read-document.ts';
import { WebFile } from '../../documents/web-file.ts';
import { newId } from '../../saved/id.ts';
import { kindOf, refusalOf } from './kinds.ts';
import { texts } from './texts.ts';
import { transcriptOf } from './transcript.ts';

/** Input types that the model or the server accepts. */
export interface Capabilities {
  readonly vision: boolean;
  readonly audio: boolean;
  readonly transcribe: boolean;
}

/** Size of documents; their text is shorter. */
const maxDocumentMegabytes = 40;

/** Reads a file as an attachment; throws an error for people if it cannot be used. */
export async function attachmentOf(file: File, capabilities: Capabilities): Promise<Attachment> {
  const attachment = await read(file, capabilities);
  return file instanceof WebFile ? { ...attachment, url: file.url } : attachment;
}

async function read(file: File, capabilities: Capabilities): Promise<Attachment> {
  const { name } = file;
  const refuse = (reason: string): Error => new Error(texts.refused(name, reason));
  const format = documentFormat(file);
  if (format) {
    if (file.size > maxDocumentMegabytes * 1024 * 1024) throw refuse(texts.tooLarge(maxDocumentMegabytes));
    const text = await documentText(file, format).catch((thrown) => {
      throw refuse(reasonOf(thrown));
    });
    if (text === '') throw refuse(texts.noText);
    return { id: newId(), kind: 'text', name, text };
  }
  const refusal = refusalOf(file);
  if (refusal) throw new Error(refusal);
  const id = newId();
  const kind = kindOf(file);
  if (kind === 'image') {
    if (!capabilities.vision) throw refuse(texts.noVision);
    const size = await imageSize(file);
    return { id, kind, name, blob: file, ...(size ? { size } : {}) };
  }
  if (kind === 'audio') {
    if (capabilities.audio) return { id, kind, name, blob: file };
    if (!capabilities.transcribe) throw refuse(texts.noAudio);
    return { id, kind: 'text', name: texts.transcript(name), text: await transcriptOf(file) };
  }
  if (kind === 'pdf') {
    const { textOfPdf } = await import('./pdf.ts');
    const text = await textOfPdf(file).catch((thrown) => {
      throw refuse(reasonOf(thrown));
    });
    if (text.trim() === '') throw refuse(texts.onlyScans);
    return { id, kind: 'text', name, text };
  }
  const text = await file.text();
  if (text.includes('\0')) throw refuse(texts.binary);
  return { id, kind: 'text', name, text };
}

/** Formats say in English what is wrong. Archives are the exception: their sentences are in the language of the page. */
function reasonOf(thrown: unknown): string {
  const { name, message } = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (name === 'PasswordException') return texts.encrypted;
  return thrown instanceof FormatError || name === 'InvalidPDFException' ? texts.damaged : message;
}
