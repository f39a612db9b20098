/** Scripts that have no spaces between words: there each sign counts. RemoteModel twenty letters are a word at most. */
const words =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{1,20}/gu;

/** How long a text is to whoever must say it. */
export function wordCount(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(words)) count += 1;
  return count;
}
