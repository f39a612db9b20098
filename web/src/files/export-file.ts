import { type Story, textOf, titleOf } from '../story/story.ts';
import { actionMark, speakerOf } from '../story/turns.ts';
import { type ExportedFile, fileName } from './download.ts';
import { saveOfStory } from './lite-save.ts';
import { fileOfStory } from './own-story.ts';

export type ExportFormat = 'parley' | 'lite' | 'text';

export function exported(story: Story, format: ExportFormat): ExportedFile {
  const title = titleOf(story);
  const json = 'application/json';
  if (format === 'parley')
    return { name: fileName(title, '.parley.json'), type: json, content: JSON.stringify(fileOfStory(story)) };
  if (format === 'lite')
    return { name: fileName(title, '.json'), type: json, content: JSON.stringify(saveOfStory(story)) };
  return { name: fileName(title, '.txt'), type: 'text/plain', content: plainText(story) };
}

/** Plain text, for reading. */
export function plainText(story: Story): string {
  if (story.mode === 'story') return story.passages.map(textOf).join('');
  return story.passages
    .map((passage) => {
      if (story.mode === 'adventure')
        return passage.by === 'person' ? `${actionMark}${textOf(passage)}` : textOf(passage);
      return `${speakerOf(story, passage)}: ${textOf(passage)}`;
    })
    .join('\n\n');
}
