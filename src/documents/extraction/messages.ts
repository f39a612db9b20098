import type { ExtractedDocument } from '../../core/documents.ts';
import type { PlainError } from '../../core/errors.ts';

export interface ExtractionLimits {
  /** Of the file. */
  readonly fileBytes: number;
  /** Without progress: a page of a PDF, or all of any other file. */
  readonly milliseconds: number;
  readonly totalMilliseconds: number;
  /** Of the heap, which does not include the file itself. */
  readonly heapMegabytes: number;
  /** Of the text. */
  readonly characters: number;
}

/** Larger files are not read. */
export const maxDocumentBytes = 256 * 1_048_576;

/** Why a file beyond a limit is not read. */
export function tooLarge(maxBytes: number): string {
  const megabytes = Math.round(maxBytes / 1_048_576);
  return `it is larger than ${megabytes === 0 ? `${maxBytes} bytes` : `${megabytes} MB`}`;
}

/** A file of the disk, or the bytes that are attached. */
export interface ToExtractor {
  readonly name: string;
  readonly path?: string;
  readonly limits: ExtractionLimits;
}

/** The text is attached. `megabytes` is the memory of the process. */
export type FromExtractor =
  | { readonly type: 'progress' }
  | ({ readonly megabytes: number } & (
      | { readonly type: 'extracted'; readonly document: Omit<ExtractedDocument, 'text'> }
      | { readonly type: 'failed'; readonly error: PlainError }
    ));

/** Of the whole process: its file, its heap and as much again for what is outside of it. */
export function processMegabytes({ heapMegabytes, fileBytes }: ExtractionLimits): number {
  return 2 * heapMegabytes + Math.ceil(fileBytes / 1_048_576);
}
