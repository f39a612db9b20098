import { splitReasoning } from '../../api/reasoning.ts';

const maxWords = 6;
const maxLength = 60;

/** The title in an answer of a model; undefined if it is none: empty, too long, or a repetition of the request. */
export function titleOf(answer: string, request: string): string | undefined {
  const line = splitReasoning(answer)
    .text.split('\n')
    .map((one) => one.trim())
    .find((one) => one !== '');
  const title = (line ?? '')
    .replace(/^(?:#+\s*|[-*]\s+)/, '')
    .replace(/^\**\s*(?:chat )?title\s*\**\s*[::-]\s*\**\s*/i, '')
    .replace(/^["'“”„«*_`]+|["'“”»*_`.。]+$/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  if (title === '' || title.length > maxLength || title.split(' ').length > maxWords) return undefined;
  return request.toLowerCase().includes(title.toLowerCase()) ? undefined : title;
}
