import type { PassageLocation, Source } from '../conversations/conversation.ts';
import { englishLocation, texts } from './collection-texts.ts';

type Words = typeof texts.location;

/** Where a passage stands: `page 3`, its headings, or its line. */
export function locationOf(
  { page, headings = [], line }: Omit<PassageLocation, 'name'>,
  words: Words = texts.location,
): string {
  const first = page ? words.page(page) : headings.length === 0 && line ? words.line(line) : '';
  return [first, headings.join(' › ')].filter(Boolean).join(', ');
}

export function titleOf(passage: PassageLocation, words?: Words): string {
  const location = locationOf(passage, words);
  return location === '' ? passage.name : `${passage.name}, ${location}`;
}

/** The title for the model, which is the same in every language of the page. */
export const englishTitleOf = (passage: PassageLocation): string => titleOf(passage, englishLocation);

/** The title for the person. */
export const sourceTitle = ({ title, location }: Pick<Source, 'title' | 'location'>): string =>
  location ? titleOf(location) : title;
