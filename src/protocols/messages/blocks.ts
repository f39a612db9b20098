import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { refuseMedia } from '../dialect.ts';
import { optional, type Read, readList, readObject, readString, wrong } from './readers.ts';

export interface Block {
  readonly type: string;
  readonly fields: JsonObject;
  /** Where it stands in the request: `messages[0].content[2]`. */
  readonly field: string;
}

/** Told of the place of everything that has no effect, so that the client can be told too. */
export type Pass = (field: string) => void;

/** A content is a text, which is the same as one block of text, or a list of blocks. */
export function readBlocks(content: unknown, field: string): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', fields: { text: content }, field }];
  if (!Array.isArray(content)) throw wrong(field, 'a string or an array of content blocks');
  return content.map((entry, index) => readBlock(entry, `${field}[${index}]`));
}

const readBlock: Read<Block> = (value, field) => {
  const fields = readObject(value, field);
  return { type: readString(fields.type, `${field}.type`), fields, field };
};

type BlockText = (block: Block, pass: Pass) => string;

/** The blocks that can be read as text wherever they stand. */
const texts = new Map<string, BlockText>([
  ['text', ({ fields, field }) => readString(fields.text, `${field}.text`)],
  ['document', documentText],
  ['search_result', searchResultText],
  // An earlier part of the conversation, summed up by whoever served it.
  ['compaction', ({ fields, field }) => optional(fields.content, `${field}.content`, readString) ?? ''],
  ['tool_reference', ({ fields, field }) => `Tool found: ${readString(fields.tool_name, `${field}.tool_name`)}`],
  ['image', refuseImage],
]);

/** The text of a block; blocks of kinds that nobody here knows are passed over, as their clients expect. */
export function blockText(block: Block, pass: Pass): string {
  const read = texts.get(block.type);
  if (read) return read(block, pass);
  pass(block.field);
  return '';
}

/** Blocks that stand side by side are paragraphs of their own. */
export function joinTexts(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n');
}

function contentText(content: unknown, field: string, pass: Pass): string {
  return joinTexts(readBlocks(content, field).map((block) => blockText(block, pass)));
}

/** What a tool gave back: nothing, a text, or blocks. */
export function resultText(content: unknown, field: string, pass: Pass): string {
  return optional(content, field, (value) => contentText(value, field, pass)) ?? '';
}

function documentText({ fields, field }: Block, pass: Pass): string {
  const source = readObject(fields.source, `${field}.source`);
  const type = readString(source.type, `${field}.source.type`);
  const title = optional(fields.title, `${field}.title`, readString);
  const context = optional(fields.context, `${field}.context`, readString);
  const told = [...(title ? [`Title: ${title}`] : []), ...(context ? [`Context: ${context}`] : [])];
  return ['<document>', ...told, sourceText(type, source, `${field}.source`, pass), '</document>'].join('\n');
}

function sourceText(type: string, source: JsonObject, field: string, pass: Pass): string {
  if (type === 'text') return readString(source.data, `${field}.data`);
  if (type === 'content') return contentText(source.content, `${field}.content`, pass);
  throw new AppError('unsupported', {
    feature: `A document that is no text (${field})`,
    instead: 'send what it says with a source of the type text',
  });
}

function searchResultText({ fields, field }: Block, pass: Pass): string {
  const title = readString(fields.title, `${field}.title`);
  const source = readString(fields.source, `${field}.source`);
  readList(fields.content, `${field}.content`);
  const found = contentText(fields.content, `${field}.content`, pass);
  return ['<search_result>', `Title: ${title}`, `Source: ${source}`, found, '</search_result>'].join('\n');
}

/** A file id means a store that is not here; everything else waits only for a model that can see. */
function refuseImage({ fields, field }: Block): never {
  const source = optional(fields.source, `${field}.source`, readObject);
  if (source?.type !== 'file') throw refuseMedia('image', field);
  throw new AppError('unsupported', {
    feature: `An image by its file id (${field}.source)`,
    instead: 'this server keeps no files; send the picture itself',
  });
}
