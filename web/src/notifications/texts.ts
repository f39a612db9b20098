import { translatable } from '../languages/index.ts';

/** Sentences about notifications, and what these say. */
export const texts = translatable('notifications', {
  title: 'Notifications',
  label: 'Notify me when a long reply or image is done',
  help: 'While this page is hidden. A notification shows the title of the chat and nothing else of it, also on a locked screen.',
  blocked: 'The browser blocks notifications of this page. Allow them in its settings for this site.',
  unavailable:
    'This browser has no notifications for this page. They need HTTPS, and on iPhones and iPads the page on the home screen.',
  reply: 'The reply is done.',
  image: 'The image is done.',
  failed: 'It ended with an error.',
  offer: 'Your reply or image was done while you were away. Show a notification next time?',
  accept: 'Notify me',
});
