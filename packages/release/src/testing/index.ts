export { type LayerEntry, type TestImage, testImage } from './image.ts';
