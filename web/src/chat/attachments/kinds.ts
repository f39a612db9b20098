import { sizeLabel } from '../../composer/long-text.ts';
import { texts } from '../../composer/texts.ts';

const words = texts.attachments;

/** File kind, by its MIME type or else by its name. */
type FileKind = 'image' | 'audio' | 'pdf' | 'text' | 'unknown';

const megabyte = 1024 * 1024;
/** Size limits: larger requests are rejected, and larger texts slow down the page. */
const limits: Readonly<Record<Exclude<FileKind, 'unknown'>, number>> = {
  image: 15 * megabyte,
  audio: 50 * megabyte,
  pdf: 40 * megabyte,
  text: 10 * megabyte,
};
const textTypes = /^text\/|[/+](json|xml|yaml|toml|javascript|typescript|sql|x-sh|x-python|csv|markdown)$/;
const textNames =
  /\.(txt|md|markdown|csv|tsv|json|jsonl|ya?ml|toml|xml|html?|css|scss|[cm]?[jt]sx?|svelte|vue|py|rb|rs|go|java|kt|c|h|cc|cpp|hpp|cs|php|swift|sh|bash|zsh|ps1|bat|sql|ini|cfg|conf|env|log|tex|srt|vtt|diff|patch|lua|pl|r|jl|scala|dart|gradle|makefile|dockerfile)$/i;
const soundNames = /\.(wav|mp3|flac|ogg|oga|opus|m4a|webm)$/i;

export function kindOf({ type, name }: { readonly type: string; readonly name: string }): FileKind {
  if (/^image\/(png|jpe?g|webp|gif|bmp|avif)/.test(type)) return 'image';
  if (type.startsWith('audio/') || (type === '' && soundNames.test(name))) return 'audio';
  if (type === 'application/pdf' || /\.pdf$/i.test(name)) return 'pdf';
  if (textTypes.test(type) || textNames.test(name) || /^(makefile|dockerfile|readme|license)$/i.test(name))
    return 'text';
  return 'unknown';
}

/** Why a file cannot be attached, for people; undefined if it can. */
export function refusalOf(file: {
  readonly type: string;
  readonly name: string;
  readonly size: number;
}): string | undefined {
  const kind = kindOf(file);
  if (kind === 'unknown') return words.unsupported(file.name);
  if (file.size === 0) return words.empty(file.name);
  if (file.size > limits[kind])
    return words.tooLarge(file.name, sizeLabel(file.size), words.kinds[kind], sizeLabel(limits[kind]));
  return undefined;
}

/** What happens with a character card that was chosen as an attachment. */
export type CardUse = 'import' | 'offer';

/** Whether it is worth reading the file to see if it is a character card. */
export function mayBeCard({ name, type, size }: Pick<File, 'name' | 'type' | 'size'>): boolean {
  return size <= 64 * 2 ** 20 && (type === 'image/png' || /\.(png|charx|json)$/i.test(name));
}

/** One that the model can read is attached as asked, and offered as a character; any other is imported as a character. */
export function cardUse({ name }: Pick<File, 'name'>, { vision }: { readonly vision: boolean }): CardUse {
  return /\.json$/i.test(name) || (vision && !/\.charx$/i.test(name)) ? 'offer' : 'import';
}

export async function isCard(file: File): Promise<boolean> {
  if (!mayBeCard(file)) return false;
  // Readers of files are loaded when they are needed.
  const { contentOf } = await import('../../files/open-file.ts');
  const content = await contentOf(file, { newId: () => '', now: 0 }).catch(() => undefined);
  return content?.kind === 'character';
}
