package main

import (
	"fmt"
	"net/http"

	"github.com/vmware/govmomi/vim25/types"
)

const tagging = "/rest/com/vmware/cis/tagging/"

// ensureCategory finds or makes a tag category and returns its id.
func (vc *vcenter) ensureCategory(name string) (string, error) {
	id, err := vc.taggingID("category", name, "")
	if err != nil || id != "" {
		return id, err
	}
	var made struct{ Value string }
	err = vc.rest(http.MethodPost, tagging+"category", map[string]any{"create_spec": map[string]any{
		"name": name, "description": "", "cardinality": "MULTIPLE", "associable_types": []string{},
	}}, &made)
	return made.Value, err
}

// ensureTag finds or makes a tag in a category and returns its id.
func (vc *vcenter) ensureTag(category, name string) (string, error) {
	categoryID, err := vc.ensureCategory(category)
	if err != nil {
		return "", err
	}
	id, err := vc.taggingID("tag", name, categoryID)
	if err != nil || id != "" {
		return id, err
	}
	var made struct{ Value string }
	err = vc.rest(http.MethodPost, tagging+"tag", map[string]any{"create_spec": map[string]any{
		"name": name, "description": "", "category_id": categoryID,
	}}, &made)
	return made.Value, err
}

type taggingObject struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	CategoryID string `json:"category_id"`
}

func (vc *vcenter) taggingAll(kind string) ([]taggingObject, error) {
	var ids struct{ Value []string }
	if err := vc.rest(http.MethodGet, tagging+kind, nil, &ids); err != nil {
		return nil, err
	}
	out := []taggingObject{}
	for _, id := range ids.Value {
		var one struct{ Value taggingObject }
		if err := vc.rest(http.MethodGet, tagging+kind+"/id:"+id, nil, &one); err != nil {
			return nil, err
		}
		out = append(out, one.Value)
	}
	return out, nil
}

func (vc *vcenter) taggingID(kind, name, category string) (string, error) {
	all, err := vc.taggingAll(kind)
	for _, one := range all {
		if one.Name == name && (category == "" || one.CategoryID == category) {
			return one.ID, nil
		}
	}
	return "", err
}

func (vc *vcenter) attachTag(id string, ref types.ManagedObjectReference) error {
	return vc.rest(http.MethodPost, tagging+"tag-association/id:"+id+"?~action=attach", map[string]any{
		"object_id": map[string]string{"type": ref.Type, "id": ref.Value},
	}, nil)
}

// removeTag deletes a tag, which detaches it everywhere.
func (vc *vcenter) removeTag(category, name string) error {
	categoryID, err := vc.taggingID("category", category, "")
	if err != nil {
		return err
	}
	id, err := vc.taggingID("tag", name, categoryID)
	if err != nil {
		return err
	}
	if id == "" || categoryID == "" {
		return fmt.Errorf("no tag %s in category %s", name, category)
	}
	return vc.rest(http.MethodDelete, tagging+"tag/id:"+id, nil, nil)
}

// tagView is a tag with what it is attached to.
type tagView struct {
	ID       string   `json:"id"`
	Category string   `json:"category"`
	Name     string   `json:"name"`
	Objects  []string `json:"objects"`
}

func (vc *vcenter) tags() ([]tagView, error) {
	categories, err := vc.taggingAll("category")
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, category := range categories {
		names[category.ID] = category.Name
	}
	all, err := vc.taggingAll("tag")
	out := []tagView{}
	for _, tag := range all {
		var attached struct {
			Value []struct{ Type, ID string }
		}
		if err := vc.rest(http.MethodPost, tagging+"tag-association/id:"+tag.ID+"?~action=list-attached-objects", struct{}{}, &attached); err != nil {
			return nil, err
		}
		view := tagView{ID: tag.ID, Category: names[tag.CategoryID], Name: tag.Name, Objects: []string{}}
		for _, object := range attached.Value {
			view.Objects = append(view.Objects, object.ID)
		}
		out = append(out, view)
	}
	return out, err
}

// tagsByObject maps a moref value to "category/tag" names.
func (vc *vcenter) tagsByObject() map[string][]string {
	out := map[string][]string{}
	tags, err := vc.tags()
	if err != nil {
		return out
	}
	for _, tag := range tags {
		for _, object := range tag.Objects {
			out[object] = append(out[object], tag.Category+"/"+tag.Name)
		}
	}
	return out
}
