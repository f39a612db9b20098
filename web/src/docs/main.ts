import { start } from '../app/start.ts';
import ApiPage from './ApiPage.svelte';

start(ApiPage);
