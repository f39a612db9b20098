import { newPassage, newStory, type Passage, type Story } from '../story.ts';

/** Returns 1, 2, 3 … as ids. */
export function counting(): () => string {
  let last = 0;
  return () => {
    last += 1;
    return String(last);
  };
}

/** A story of these texts, written by the model, or by the person if they start with `me:`. Ids are a, b, c … */
export function storyOfTexts(texts: readonly string[], fields: Partial<Story> = {}): Story {
  return newStory({ id: 's', changed: 0, passages: texts.map(passageOf), ...fields });
}

function passageOf(text: string, index: number): Passage {
  const id = String.fromCharCode(97 + index);
  return text.startsWith('me:') ? newPassage(id, 'person', text.slice(3)) : newPassage(id, 'model', text);
}
